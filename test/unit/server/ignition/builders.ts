/** A Machine Config Server in memory, with its requests, log and metrics. */

import { pino } from 'pino';
import type { MachineConfig } from '../../../../core/machine-config/types';
import { buildIgnition, type IgnitionDependencies } from '../../../../server/ignition/app';
import { prepareNow, type PrepareJob, type Preparer } from '../../../../server/ignition/prepare';
import { createShelf } from '../../../../server/ignition/shelf';
import { fixedSource } from './fixed-source';
import type { JoinRequest, JoinVerdict } from '../../../../server/join-gate';

export const SECRET = 'very-secret';

export function aRendered(name = 'rendered-worker-1', config: object = {}): MachineConfig {
  return {
    metadata: { name },
    spec: {
      config: {
        ignition: { version: '3.5.0' },
        storage: { files: [{ path: '/etc/a', contents: { source: `data:,${SECRET}` } }] },
        ...config,
      },
    },
  };
}

export function countingPreparer() {
  const jobs: PrepareJob[] = [];
  const preparer: Preparer = {
    prepare: async (job) => {
      jobs.push(job);
      return prepareNow(job);
    },
    close: () => Promise.resolve(),
  };
  return { preparer, jobs };
}

export interface ServerOptions extends Partial<IgnitionDependencies> {
  readonly machineConfig?: MachineConfig;
  readonly maxBytes?: number;
  readonly verdict?: JoinVerdict;
}

export function aServer(options: ServerOptions = {}) {
  const { machineConfig = aRendered(), maxBytes = 1024 * 1024, ...given } = options;
  const verdict: JoinVerdict = options.verdict ?? { admitted: true, tokenId: 'token-1' };
  const logged: string[] = [];
  const asked: JoinRequest[] = [];
  const counted: string[] = [];
  const count = (...parts: readonly unknown[]) => void counted.push(parts.join(' '));
  const { preparer, jobs } = countingPreparer();
  const { app, connections } = buildIgnition({
    source: fixedSource([{ pool: 'worker', machineConfig }]),
    shelf: createShelf({ preparer, maxBytes }),
    gate: {
      async ask(request) {
        asked.push(request);
        return verdict;
      },
    },
    events: {
      sent: (version, encoding) => count('sent', version, encoding),
      missed: (reason) => count('missed', reason),
      substituted: (because) => count('substituted', because),
      dropped: (reason) => count('dropped', reason),
      answered: (endpoint, code) => count('answered', endpoint, code),
    },
    logger: pino({ level: 'debug' }, { write: (line: string) => logged.push(line) }),
    limits: { maxConnections: 100, maxConnectionsPerAddress: 100 },
    ...given,
  });
  return { app, connections, logged, asked, counted, jobs };
}

export const IGNITION = 'application/vnd.coreos.ignition+json;version=';
