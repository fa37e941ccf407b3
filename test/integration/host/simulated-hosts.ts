/** Hosts of `slipway host-worker --simulate` in this process, on a real server and a real Temporal. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DEFAULT_DURATIONS } from '../../../adapters/simulation';
import type { TemporalServer } from '../../../tools/temporal';
import { serveSimulatedHosts, type SimulatedHostsSettings } from '../../../workers/host/worker';
import { createLogger, type Logger } from '../../../process/logging';
import { pinKeys } from '../../support/signed-orders';
import type { EndpointFixture } from '../server/endpoint-fixture';

export interface HostsHere {
  /** Has the root of every host, by its name. */
  readonly directory: string;
  /** Config of a host after its first boot; undefined = it has none. */
  configOf(node: string): string | undefined;
  stop(): Promise<void>;
}

interface HostsOptions {
  readonly nodes: readonly string[];
  /** Name of their config. */
  readonly firstBoot: string;
  readonly rebootSeconds?: number;
  readonly failures?: SimulatedHostsSettings['failures'];
  /** Absent = silent. */
  readonly log?: Logger;
}

const SILENT = createLogger({ process: 'test', level: 'silent' });

/** Resolves once all of them take orders; each has the certificate of its own node. */
export async function startHosts(
  { server, kube, credentialsOf }: EndpointFixture,
  temporal: TemporalServer,
  { nodes, firstBoot, rebootSeconds = 0, failures = [], log = SILENT }: HostsOptions,
): Promise<HostsHere> {
  const credentials = new Map(
    await Promise.all(nodes.map(async (node) => [node, await credentialsOf(node)] as const)),
  );
  const directory = mkdtempSync(join(tmpdir(), 'slipway-simulated-'));
  const stopping = new AbortController();
  const configs = new Map<string, string | undefined>();
  const polling = new Set<string>();
  let markPolling = (): void => undefined;
  const allPolling = new Promise<void>((resolve) => {
    markPolling = resolve;
  });
  const running = serveSimulatedHosts(
    {
      kind: 'simulated',
      temporalAddress: temporal.address,
      temporalNamespace: temporal.namespace,
      orderKeysFile: pinKeys(directory),
      isDirect: true,
      serverUrl: server.hostUrl,
      apiServer: kube.cluster.server,
      logLevel: 'silent',
      nodes,
      baseDirectory: directory,
      credentials: (node) => {
        const files = credentials.get(node);
        if (files === undefined) throw new Error(`no credentials of ${node}`);
        const { certFile, keyFile, caFile } = files;
        return { certificateFile: certFile, keyFile, authorityFile: caFile };
      },
      durations: {
        ...DEFAULT_DURATIONS,
        stageSeconds: 0,
        applySeconds: 0,
        rebootSeconds,
        jitter: 0,
      },
      failures,
      firstBoot,
    },
    {
      signal: stopping.signal,
      log,
      events: {
        onConfigured: (node, config) => configs.set(node, config),
        onPolling: (node) => {
          polling.add(node);
          if (polling.size === nodes.length) markPolling();
        },
      },
    },
  );
  const ended = running.then(() => {
    throw new Error('the simulated hosts have ended');
  });
  await Promise.race([allPolling, ended]);
  return {
    directory,
    configOf: (node) => configs.get(node),
    async stop() {
      stopping.abort();
      await running;
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
