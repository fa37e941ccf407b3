/**
 * The Node of a simulated machine is not Ready while the machine is down, and Ready with a new boot
 * ID afterwards. Written with the node's own certificate; every condition says that it is
 * simulated.
 */

import { fail, messageOf } from '../../core/errors';
import { SIMULATED_OS } from '../../core/names';
import { askEndpoint } from '../host/endpoint-request';

interface SimulatedKubeletOptions {
  readonly node: string;
  /** Base URL of the API server. */
  readonly apiServer: string;
  /** PEM files. */
  readonly certificateFile: string;
  readonly keyFile: string;
  readonly authorityFile: string;
  /** RFC 3339. */
  readonly now?: () => string;
}

export interface SimulatedKubelet {
  /** @throws `ApiUnavailable` */
  reportSystem(): Promise<void>;
  /** @throws `ApiUnavailable` */
  reportDown(): Promise<void>;
  /** @throws `ApiUnavailable` */
  reportUp(bootId: string): Promise<void>;
}

const REASON = 'SimulatedReboot';

export function createSimulatedKubelet(options: SimulatedKubeletOptions): SimulatedKubelet {
  const now = options.now ?? (() => new Date().toISOString().replace(/\.\d+Z$/, 'Z'));
  const condition = (status: 'True' | 'False', message: string) => ({
    type: 'Ready',
    status,
    reason: REASON,
    message,
    lastHeartbeatTime: now(),
    lastTransitionTime: now(),
  });
  return {
    reportSystem: () => patchStatus(options, { status: { nodeInfo: { osImage: SIMULATED_OS } } }),
    reportDown: () =>
      patchStatus(options, {
        status: { conditions: [condition('False', 'the simulated machine reboots')] },
      }),
    reportUp: (bootId) =>
      patchStatus(options, {
        status: {
          conditions: [condition('True', `the simulated machine has booted (${bootId})`)],
          nodeInfo: { bootID: bootId, osImage: SIMULATED_OS },
        },
      }),
  };
}

async function patchStatus(options: SimulatedKubeletOptions, patch: object): Promise<void> {
  const path = `/api/v1/nodes/${encodeURIComponent(options.node)}/status`;
  const { certificateFile, keyFile, authorityFile } = options;
  const server = {
    ...{ url: options.apiServer, certificateFile, keyFile, authorityFile },
    timeoutMs: 15_000,
  };
  const { status } = await askEndpoint(path, server, { patch }).catch((error: unknown) => {
    throw fail('ApiUnavailable', `patch status of node ${options.node}: ${messageOf(error)}`);
  });
  if (status !== 200) {
    throw fail('ApiUnavailable', `patch status of node ${options.node}: answer ${status}`, {
      status,
    });
  }
}
