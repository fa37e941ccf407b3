/**
 * The host worker: one Temporal worker per machine on the queue `host/<node>`, with one open poll,
 * no workflows and no Kubernetes client. Simulated hosts share a process.
 */

import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createExclusive } from '../../host/exclusive';
import { dropFallback } from '../../host/update/fallback';
import {
  createConfigClient,
  learnedAuthorityFile,
  learnedOrderKeysFile,
  OrderKeyFiles,
} from '../../adapters/host';
import { messageOf } from '../../core/errors';
import {
  type ConfirmAfterReboot,
  confirmAfterReboot,
  goBackAndReboot,
} from '../../host/confirm/after-reboot';
import { tellListeners, type WritingOrder } from './order-listeners';
import { ConfirmBeforeReboot } from '../../host/confirm/before-reboot';
import { bareHost } from './bare-host';
import { followHostBundle } from './bundle-follower';
import { followHostPinnedImages } from './pinned-follower';
import { connected, type HostConnection, type HostIdentity } from './connection';
import { tellSilence } from '../../process/temporal/connection';
import { journalLogger } from '../../process/host/journal-logger';
import { KubeletEndpoint, kubeletFinder, startWhatWaited } from '../../host/kubelet';
import { createLimit } from '../../core/concurrency-limit';
import { type ServedHost, type LastReboot, runHost } from './loop';
import { createMachinePorts } from './machine-ports';
import { createNotifier, type SystemdNotifier } from '../../process/host/systemd-notify';
import { rebootMachine } from './reboot';
import { watchHosts } from '../../process/host/health';
import { readHostSettings } from './settings';
import { settleHost, settlingAgain } from '../../host/settle/settle-again';
import type {
  HostWorkerOptions,
  HostWorkerSettings,
  SimulatedHostsSettings,
  SingleHostSettings,
} from './settings';
import { settingsOrBack } from '../../host/confirm/last-resort';
import { becomeOnlyWorker, WORKER_LOCK } from '../../host/single-process';
import { type Connection, createWorkerState } from '../../host/status/worker-state';
import { runSimulatedHosts, simulatedIdentity, type SimulatedHostEvents } from './simulation';
import type { Logger } from '../../process/logging';

export type {
  HostWorkerOptions,
  HostWorkerSettings,
  NodeCredentials,
  SimulatedHostsSettings,
} from './settings';
export { HOST_WORKER_FLAGS, type HostWorkerFlag } from './flags';
export { readHostSettings } from './settings';

/** For `systemctl status`. */
const SHOWN: Readonly<Record<Connection, string>> = {
  waiting: 'waiting for Temporal',
  connected: 'serving orders',
  rebooting: 'rebooting',
};

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Runs the host worker of this machine, or simulated ones, until the signal aborts. Waits for an
 * absent Temporal server.
 *
 * @param flags - by setting name (`HOST_WORKER_FLAGS`); they precede the environment
 * @throws an Error named SettingsError that lists every wrong setting, unless an unconfirmed update
 *   may be the cause: then they are read again, until the machine rolls back
 */
export async function runHostWorker(
  flags: HostWorkerOptions,
  signal: AbortSignal,
  environment: Environment = {},
): Promise<void> {
  const createLog = (level: HostWorkerSettings['logLevel']): Logger =>
    journalLogger('host-worker', level, environment);
  const settings = await readInTime(flags, environment, { signal, log: createLog('info') });
  if (settings === undefined) return;
  const log = createLog(settings.logLevel);
  const nodes = settings.kind === 'simulated' ? settings.nodes : [settings.node];
  const watched = await watchHosts(settings, nodes, log);
  try {
    if (settings.kind === 'simulated') {
      log.info({ hosts: nodes.length }, 'starting SIMULATED hosts');
      await serveSimulatedHosts(settings, { signal, log, events: watched });
    } else {
      const systemd = createNotifier(environment, log);
      const machine = { settings, systemd };
      const leave = await becomeOnlyWorker(join(settings.root, WORKER_LOCK), { signal, log });
      await serveMachine(machine, { signal, log, events: watched }).finally(() => {
        leave();
        return systemd.close();
      });
    }
  } finally {
    await watched.close();
  }
}

/** Undefined = the machine rolled back, because an update had removed the settings. */
async function readInTime(
  flags: HostWorkerOptions,
  environment: Environment,
  { signal, log }: Running,
): Promise<HostWorkerSettings | undefined> {
  const read = (): HostWorkerSettings => readHostSettings(flags, environment);
  let systemd: SystemdNotifier | undefined;
  const onWaiting = async (): Promise<void> => {
    systemd = createNotifier(environment, log);
    await systemd.ready('settings cannot be used');
  };
  const isSimulated = flags['simulate'] !== undefined || flags['nodes'] !== undefined;
  if (isSimulated) return read();
  const resort = { signal, log, onWaiting };
  return settingsOrBack(read, () => bareHost(flags, environment, resort), resort).finally(() =>
    systemd?.close(),
  );
}

interface Running {
  readonly signal: AbortSignal;
  readonly log: Logger;
  readonly events?: SimulatedHostEvents;
}

/**
 * Serves simulated hosts until the signal aborts: each with a connection of its own to the gateway,
 * or all with one to Temporal itself.
 */
export async function serveSimulatedHosts(
  settings: SimulatedHostsSettings,
  running: Running,
): Promise<void> {
  const linked = async (
    identity: HostIdentity | undefined,
    { signal }: Pick<Running, 'signal'>,
    work: (link: HostConnection) => Promise<void>,
  ): Promise<void> => {
    await connected(settings, { ...running, signal, identity }, async (link) => {
      running.events?.onLink?.(link);
      const ended = new AbortController();
      const watching = link.watch(ended.signal, {
        ...tellSilence(settings.temporalAddress, running.log),
        isUrgent: () => false,
      });
      await work(link).finally(() => ended.abort());
      await watching;
    });
  };
  if (settings.isDirect) {
    await linked(undefined, running, (link) =>
      runSimulatedHosts(settings, { ...running, linked: (_node, _signal, work) => work(link) }),
    );
  } else {
    await runSimulatedHosts(settings, {
      ...running,
      linked: (node, signal, work) => linked(simulatedIdentity(settings, node), { signal }, work),
    });
  }
}

interface Machine {
  readonly settings: SingleHostSettings;
  readonly systemd: SystemdNotifier;
}

async function serveMachine({ settings, systemd }: Machine, running: Running): Promise<void> {
  const { log, signal } = running;
  const { node } = settings;
  const { ports, driver } = await createMachinePorts(settings);
  log.info({ node, driver: driver.name, why: driver.why }, 'OS driver chosen');
  const findKubelet = kubeletFinder(settings, log);
  findKubelet();
  const endpoint = new KubeletEndpoint(
    settings.serverUrl,
    findKubelet,
    learnedAuthorityFile(settings.root),
  );
  const state = createWorkerState(settings.root, settings.temporalAddress, log);
  let shown: Connection | undefined;
  const show = (connection: Connection): void => {
    if (connection === shown) return;
    shown = connection;
    state.connection(connection);
    void systemd.status(SHOWN[connection]);
  };
  const lastReboot: LastReboot = {};
  const host: ServedHost = {
    node,
    identity: `slipway-host@${node}`,
    keyring: new OrderKeyFiles(settings.orderKeysFile, learnedOrderKeysFile(settings.root)),
    exclusive: createExclusive(),
    lastReboot,
    onSettled: () => {
      again.holds();
      state.settled();
      void startWhatWaited(findKubelet().kubeletUnit, log);
    },
    onUnsettled: (reason) => again.failed(reason),
    around: (activities) =>
      state.watch(
        tellListeners(activities, {
          onWriting: (order) => beginsToWrite(order),
          onCarriedOut: () => carriedOut(),
          onEnded: () => hasEnded(),
        }),
      ),
    ports: {
      ...ports,
      namespace: settings.temporalNamespace,
      configs: createConfigClient(endpoint),
    },
    drift: {
      root: settings.root,
      endpoint,
      kubeletUnit: () => findKubelet().kubeletUnit,
    },
    reboot: (reason) => {
      show('rebooting');
      return rebootMachine(reason, settings, running);
    },
  };
  const goDown = async (reason: string): Promise<void> => {
    // A machine that does not go down answers that it is still in the old boot.
    await host.reboot(reason, signal).catch((error: unknown) => {
      lastReboot.problem = messageOf(error);
      log.error({ node, reason: lastReboot.problem }, 'reboot did not happen');
    });
  };
  const again = settlingAgain(
    (said) => settleHost(host, log, said),
    (reason) => (lastReboot.request ?? goDown)(reason),
    { signal },
  );
  let carriedOut = (): void => undefined;
  let hasEnded = (): void => undefined;
  let beginsToWrite = (_order: WritingOrder): void => undefined;
  // The program before the kubelet has settled already, where it is installed.
  const reason = await settleHost(host, log);
  await systemd.ready(reason === undefined ? 'waiting for Temporal' : `rebooting: ${reason}`);
  if (reason !== undefined) await goDown(reason);
  const afterReboot = await confirmAfterReboot(host, log);
  // It may be left by an update that was given up before its reboot.
  if (!afterReboot.isAwaited() && reason === undefined) {
    await dropFallback(ports.files).catch((error: unknown) =>
      log.error({ node, reason: messageOf(error) }, 'the fallback of this boot cannot be removed'),
    );
  }
  const beforeReboot = new ConfirmBeforeReboot(host, { signal, log });
  await beforeReboot.look();
  carriedOut = () => afterReboot.carriedOut();
  // A failed order may have written what cuts the machine off.
  hasEnded = () => {
    again.look();
    void beforeReboot.look();
    void afterReboot.look();
  };
  beginsToWrite = (order) => beforeReboot.begin(order);
  await waitJitter(settings.startJitterSeconds, signal);
  const ended = new AbortController();
  // Certificates also reach a machine while Temporal is away.
  const following = followHostBundle(
    host.ports,
    { root: settings.root, endpoint, kubeletUnit: () => findKubelet().kubeletUnit },
    { exclusive: host.exclusive, signal: AbortSignal.any([signal, ended.signal]), log },
  );
  const pinning = followHostPinnedImages(
    { node, root: settings.root, endpoint },
    { signal: AbortSignal.any([signal, ended.signal]), log },
  );
  const isCutOff = await serveOrders(settings, {
    ...{ host, running, endpoint, afterReboot, beforeReboot },
    connection: { shown: () => shown, show },
    isUrgent: () => afterReboot.isAwaited() || beforeReboot.isAwaited,
  }).finally(() => {
    ended.abort();
    return Promise.all([following, pinning]);
  });
  if (isCutOff) await goBackAndReboot(host, signal, log, afterReboot.why());
}

interface ServingMachine {
  readonly host: ServedHost;
  readonly endpoint: HostIdentity;
  readonly running: Running;
  readonly afterReboot: ConfirmAfterReboot;
  readonly beforeReboot: ConfirmBeforeReboot;
  readonly connection: {
    readonly shown: () => Connection | undefined;
    readonly show: (connection: Connection) => void;
  };
  readonly isUrgent: () => boolean;
}

/** @returns true when Temporal was not reached in time */
function serveOrders(
  settings: SingleHostSettings,
  {
    host,
    running,
    endpoint,
    afterReboot,
    beforeReboot,
    connection: { shown, show },
    isUrgent,
  }: ServingMachine,
): Promise<boolean> {
  const { log, signal } = running;
  const { node } = host;
  const { deadline } = afterReboot;
  const identity = settings.isDirect ? undefined : endpoint;
  return connected(settings, { log, signal, deadline, identity }, async (link) => {
    running.events?.onLink?.(link);
    const contact = (): void => {
      afterReboot.contact();
      beforeReboot.contact();
    };
    contact();
    const ended = new AbortController();
    const watching = link.watch(AbortSignal.any([signal, ended.signal]), {
      // The update may cut the machine off later: each answer restarts the time.
      onAnswer: () => {
        contact();
        if (shown() === 'waiting') show('connected');
      },
      onSilence: (reason) => {
        if (shown() !== 'connected') return;
        log.warn({ node, reason }, 'Temporal does not answer');
        show('waiting');
      },
      isUrgent,
      onUrgent: (listener) => {
        const ends = [beforeReboot.onAwaited(listener), afterReboot.onAwaited(listener)];
        return () => {
          for (const end of ends) end();
        };
      },
    });
    await runHost(host, {
      link,
      namespace: settings.temporalNamespace,
      signal: AbortSignal.any([signal, deadline]),
      log,
      limit: createLimit(1),
      onPolling: () => {
        running.events?.onPolling?.(node);
        show('connected');
      },
    }).finally(() => ended.abort());
    await watching;
  });
}

/** Spreads the connections of a rack that gets its power back. */
async function waitJitter(seconds: number, signal: AbortSignal): Promise<void> {
  if (seconds <= 0) return;
  await delay(Math.random() * seconds * 1000, undefined, { signal }).catch(() => undefined);
}
