/**
 * The kubelet of a simulated machine, as far as a reboot shows in its Node object: not Ready while
 * it is down, Ready with a new boot ID afterwards. Speaks to the API server with the node's own
 * certificate, as a kubelet does; every condition it writes says that it is simulated.
 */

import { readFile } from 'node:fs/promises';
import { request } from 'node:https';
import { fail } from '../../core/errors';

export interface SimulatedKubeletOptions {
  readonly node: string;
  /** Base URL of the API server. */
  readonly apiServer: string;
  /** PEM files. */
  readonly certificateFile: string;
  readonly keyFile: string;
  readonly authorityFile: string;
  /** Now as RFC 3339; for tests. */
  readonly now?: () => string;
}

export interface SimulatedKubelet {
  /** The machine goes down. @throws `ApiUnavailable` */
  reportDown(): Promise<void>;
  /** The machine is up with this boot ID. @throws `ApiUnavailable` */
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
    reportDown: () =>
      patchStatus(options, {
        status: { conditions: [condition('False', 'the simulated machine reboots')] },
      }),
    reportUp: (bootId) =>
      patchStatus(options, {
        status: {
          conditions: [condition('True', `the simulated machine has booted (${bootId})`)],
          nodeInfo: { bootID: bootId },
        },
      }),
  };
}

async function patchStatus(options: SimulatedKubeletOptions, patch: unknown): Promise<void> {
  const path = `/api/v1/nodes/${encodeURIComponent(options.node)}/status`;
  const status = await send(options, path, JSON.stringify(patch)).catch((error: unknown) => {
    const text = error instanceof Error ? error.message : String(error);
    throw fail('ApiUnavailable', `patch status of node ${options.node}: ${text}`);
  });
  if (status !== 200) {
    throw fail('ApiUnavailable', `patch status of node ${options.node}: answer ${status}`, {
      status,
    });
  }
}

async function send(options: SimulatedKubeletOptions, path: string, body: string): Promise<number> {
  const [cert, key, ca] = await Promise.all([
    readFile(options.certificateFile),
    readFile(options.keyFile),
    readFile(options.authorityFile),
  ]);
  return new Promise((resolve, reject) => {
    const sent = request(
      new URL(path, options.apiServer),
      {
        method: 'PATCH',
        cert,
        key,
        ca,
        agent: false,
        minVersion: 'TLSv1.2',
        timeout: 15_000,
        headers: {
          'content-type': 'application/strategic-merge-patch+json',
          'content-length': Buffer.byteLength(body),
          'user-agent': 'slipway-simulated-kubelet',
        },
      },
      (response) => {
        response.resume();
        response.on('error', reject);
        response.on('end', () => resolve(response.statusCode ?? 0));
      },
    );
    sent.on('timeout', () => sent.destroy(new Error('no answer in time')));
    sent.on('error', reject);
    sent.end(body);
  });
}
