/**
 * The host worker: one Temporal worker per machine on the queue `host/<node>`, with one open poll, no
 * workflows and no Kubernetes client. With simulated hosts, many of them in one process.
 */

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { NativeConnection } from '@temporalio/worker';
import {
  createConfigClient,
  createHostFiles,
  createHostUsers,
  createJournal,
  createNoneDriver,
  createSystemctl,
} from '../adapters/host';
import { confirmation, goBackByItself } from './host-confirmation';
import { createLimit } from './host-limit';
import { withoutNoise } from './host-log';
import { type Host, runHost } from './host-loop';
import { notifySystemd, settleBeforeOthers } from './host-readiness';
import { watchHosts } from './host-health';
import { readHostSettings } from './host-settings';
import type {
  HostProcessSettings,
  HostWorkerOptions,
  SimulatedHostsSettings,
  SingleHostSettings,
} from './host-settings';
import { runSimulatedHosts, type SimulatedHostEvents } from './host-simulation';
import { createLogger, type Logger } from './logging';
import { installTemporalRuntime } from './temporal-runtime';
import { untilAvailable } from './waiting';

export type {
  HostWorkerOptions,
  HostWorkerSettings,
  NodeCredentials,
  SimulatedHostsSettings,
} from './host-settings';
export { HOST_WORKER_FLAGS, type HostWorkerFlag } from './host-flags';
export { readHostSettings } from './host-settings';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Runs the host worker of this machine, or simulated ones, until the signal aborts. Waits for a
 * Temporal server that is away.
 *
 * @param flags - by setting name (`HOST_WORKER_FLAGS`); they go before the environment
 * @throws an Error named SettingsError that lists every wrong setting
 */
export async function runHostWorker(
  flags: HostWorkerOptions,
  signal: AbortSignal,
  environment: Environment = {},
): Promise<void> {
  const settings = readHostSettings(flags, environment);
  const log = createLogger({ process: 'host-worker', level: settings.logLevel });
  const nodes = settings.kind === 'simulated' ? settings.nodes : [settings.node];
  const watched = await watchHosts(settings, nodes, log);
  try {
    if (settings.kind === 'simulated') {
      log.info({ hosts: nodes.length }, 'starting SIMULATED hosts');
      await serveUntilStopped(settings, { signal, log, events: watched });
    } else {
      await serveMachine(settings, { signal, log, events: watched }, () =>
        notifySystemd(environment, log),
      );
    }
  } finally {
    await watched.close();
  }
}

/** Simulated hosts that run. */
export interface SimulatedHosts {
  /** Resolves when every host has its config and serves its queue; rejects if they cannot start. */
  readonly ready: Promise<void>;
  /** Config of a host after its first boot; undefined = it has none. */
  configOf(node: string): string | undefined;
  /** Stops all of them, and waits for running activities. */
  stop(): Promise<void>;
}

/** Starts simulated hosts inside this process; for tests, benchmarks and the demo. */
export function startSimulatedHosts(
  settings: Omit<SimulatedHostsSettings, 'kind'>,
  options: { readonly log?: Logger } = {},
): SimulatedHosts {
  const abort = new AbortController();
  const log = options.log ?? createLogger({ process: 'host-worker', level: settings.logLevel });
  const configs = new Map<string, string | undefined>();
  const polling = new Set<string>();
  let markReady = (): void => undefined;
  const allPolling = new Promise<void>((resolve) => {
    markReady = resolve;
  });
  if (settings.nodes.length === 0) markReady();
  const running = serveUntilStopped(
    { ...settings, kind: 'simulated' },
    {
      signal: abort.signal,
      log,
      events: {
        onConfigured: (node, config) => configs.set(node, config),
        onPolling: (node) => {
          polling.add(node);
          if (polling.size === settings.nodes.length) markReady();
        },
      },
    },
  );
  const ended = running.then(() => {
    if (!abort.signal.aborted) throw new Error('the simulated hosts have ended');
  });
  const ready = Promise.race([allPolling, ended]);
  // Whoever does not look at `ready` learns of a failure from `stop`.
  ready.catch(() => undefined);
  return {
    ready,
    configOf: (node) => configs.get(node),
    async stop() {
      abort.abort();
      await running;
    },
  };
}

interface Running {
  readonly signal: AbortSignal;
  readonly log: Logger;
  readonly events?: SimulatedHostEvents;
}

async function serveUntilStopped(
  settings: SimulatedHostsSettings,
  running: Running,
): Promise<void> {
  await connected(settings, running, (connection) =>
    runSimulatedHosts(settings, { ...running, connection }),
  );
}

async function serveMachine(
  settings: SingleHostSettings,
  running: Running,
  notify: () => Promise<void>,
): Promise<void> {
  const { log, signal } = running;
  const { node, root, credentials } = settings;
  const files = createHostFiles({ root });
  const host: Host = {
    node,
    identity: `slipway-host-worker@${node}`,
    ports: {
      node,
      files,
      users: createHostUsers(files),
      journal: createJournal(files),
      systemd: createSystemctl(files),
      os: createNoneDriver(),
      configs: createConfigClient({ ...credentials, url: settings.serverUrl }),
    },
    reboot: (reason) => rebootMachine(reason, running),
  };
  const reason = await settleBeforeOthers(host, log, notify);
  if (reason !== undefined) return host.reboot(reason, signal);
  const { deadline, reached } = await confirmation(host, settings.reconnectSeconds, log);
  const inTime = { ...running, ...(deadline === undefined ? {} : { deadline }) };
  const isCutOff = await connected(settings, inTime, async (connection) => {
    await reached();
    await runHost(host, {
      connection,
      namespace: settings.temporalNamespace,
      signal,
      log,
      limit: createLimit(1),
      onPolling: () => running.events?.onPolling?.(node),
    });
  });
  if (isCutOff) await goBackByItself(host, signal, log);
}

/**
 * Connects, waiting if need be, and closes afterwards. A stop while waiting is no failure.
 *
 * @returns true when the deadline passed before there was a connection
 */
async function connected(
  settings: HostProcessSettings,
  { signal, log, deadline }: Running & { readonly deadline?: AbortSignal },
  work: (connection: NativeConnection) => Promise<void>,
): Promise<boolean> {
  installTemporalRuntime(withoutNoise(log));
  let connection: NativeConnection | undefined;
  try {
    connection = await untilAvailable(
      `Temporal at ${settings.temporalAddress}`,
      () =>
        NativeConnection.connect({
          address: settings.temporalAddress,
          ...(settings.temporalTls === undefined ? {} : { tls: settings.temporalTls }),
        }),
      { log, signal: deadline === undefined ? signal : AbortSignal.any([signal, deadline]) },
    );
    await work(connection);
    return false;
  } catch (error) {
    if (signal.aborted) log.debug('stopped while it waited');
    else if (connection === undefined && deadline?.aborted === true) return true;
    else throw error;
    return false;
  } finally {
    await connection?.close();
  }
}

const run = promisify(execFile);

/** Asks systemd for the reboot; from here on it is systemd that ends this process. */
async function rebootMachine(reason: string, { signal, log }: Running): Promise<void> {
  await run('systemctl', ['reboot', `--message=slipway: ${reason}`]);
  log.info({ reason }, 'reboot requested');
  await new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
