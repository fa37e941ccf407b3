/**
 * Many machines in one process with one connection. Activities, files and journal are production
 * code; operating system, reboot and kubelet are simulated.
 */

import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { currentStep } from '../../activities/host/host-activities';
import { createExclusive } from '../../host/exclusive';
import { installFirstConfig } from '../../host/first-boot/first-boot';
import type { HostPorts } from '../../host/ports';
import { readCurrentConfig } from '../../host/records/configs';
import {
  createConfigClient,
  createHostUsers,
  createJournal,
  learnedAuthorityFile,
  learnedOrderKeysFile,
  OrderKeyFiles,
} from '../../adapters/host';
import {
  createFailurePlan,
  createSimulatedKubelet,
  createSimulatedMachine,
  type FailurePlan,
  type SimulatedMachine,
} from '../../adapters/simulation';
import { fail } from '../../core/errors';
import { canonicalKernelType } from '../../core/machine-config/diff';
import { SIMULATED_HOST } from '../../core/names';
import { splitKernelArguments } from '../../core/os';
import type { HostActivities } from '../../workflows/contracts/host';
import { type BootReports, createBootReports } from './simulated-boot-reports';
import type { HostConnection, HostIdentity } from './connection';
import { createLimit } from '../../core/concurrency-limit';
import { type ServedHost, runHost } from './loop';
import type { SimulatedHostsSettings } from './settings';
import { becomeOnlyWorker } from '../../host/single-process';
import type { Logger } from '../../process/logging';
import { untilAvailable } from '../../process/until-available';

const CONCURRENT_STARTS = 8;

/** For an embedding process. */
export interface SimulatedHostEvents {
  /** The host has its first config, or had one. */
  readonly onConfigured?: (node: string, config: string | undefined) => void;
  /** Called again after each reboot. */
  readonly onPolling?: (node: string) => void;
  readonly onLink?: (link: HostConnection) => void;
}

export async function runSimulatedHosts(
  settings: SimulatedHostsSettings,
  input: {
    /** Connects a node until the work ends, or the signal aborts. */
    readonly linked: (
      node: string,
      signal: AbortSignal,
      work: (link: HostConnection) => Promise<void>,
    ) => Promise<void>;
    readonly signal: AbortSignal;
    readonly log: Logger;
    readonly events?: SimulatedHostEvents;
  },
): Promise<void> {
  const { log, events = {} } = input;
  const failed = new AbortController();
  const signal = AbortSignal.any([input.signal, failed.signal]);
  await mkdir(settings.baseDirectory, { recursive: true, mode: 0o755 });
  const failures = createFailurePlan(settings.failures);
  const limit = createLimit(CONCURRENT_STARTS);

  async function run(node: string): Promise<void> {
    const lock = join(settings.baseDirectory, `.${node}.lock`);
    const leave = await becomeOnlyWorker(lock, { signal, log });
    try {
      await serveNode(node);
    } finally {
      leave();
    }
  }

  async function serveNode(node: string): Promise<void> {
    const host = await limit(async () => {
      signal.throwIfAborted();
      const made = await makeHost(settings, node, failures, { signal, log });
      const config = await firstBoot(settings, made, { signal, log });
      events.onConfigured?.(node, config);
      return made.host;
    });
    await input.linked(node, signal, (link) =>
      runHost(host, {
        link,
        namespace: settings.temporalNamespace,
        signal,
        log,
        limit,
        onPolling: () => events.onPolling?.(node),
      }),
    );
  }

  // All hosts end before a connection of all is closed.
  const ends = await Promise.allSettled(
    settings.nodes.map((node) =>
      run(node).catch((error: unknown) => {
        failed.abort(error);
        throw error;
      }),
    ),
  );
  if (input.signal.aborted) return;
  const first: unknown = failed.signal.reason;
  if (ends.some(({ status }) => status === 'rejected')) throw first;
}

interface MadeHost {
  readonly host: ServedHost;
  readonly machine: SimulatedMachine;
}

interface Running {
  readonly signal: AbortSignal;
  readonly log: Logger;
}

async function makeHost(
  settings: SimulatedHostsSettings,
  node: string,
  failures: FailurePlan,
  { signal, log }: Running,
): Promise<MadeHost> {
  const machine = await createSimulatedMachine({
    node,
    root: rootOf(settings, node),
    durations: settings.durations,
    failures,
    onServiceAction: ({ action, service }) => {
      log.info({ node, service }, `simulated systemctl ${action}`);
    },
  });
  const endpoint = { ...simulatedIdentity(settings, node), url: settings.serverUrl };
  const reports = bootReportsOf(settings, node, { signal, log });
  const host: ServedHost = {
    node,
    identity: `${SIMULATED_HOST}${node}`,
    keyring: new OrderKeyFiles(settings.orderKeysFile, learnedOrderKeysFile(machine.root)),
    exclusive: createExclusive(),
    ports: {
      node,
      namespace: settings.temporalNamespace,
      files: machine.files,
      users: createHostUsers(machine.files),
      journal: createJournal(machine.files),
      systemd: machine.systemd,
      os: machine.os,
      configs: createConfigClient(endpoint),
    },
    drift: { root: machine.root, endpoint },
    around: (activities) => simulatedAround(activities, machine, failures),
    reboot: async (_reason, ending) => {
      await powerCycle({ machine, reports, failures, signal: ending, log });
    },
  };
  const { bootId } = await machine.os.status();
  await reports?.resume(bootId);
  return { host, machine };
}

export function simulatedIdentity(settings: SimulatedHostsSettings, node: string): HostIdentity {
  const learned = learnedAuthorityFile(rootOf(settings, node));
  return { ...settings.credentials(node), learnedAuthorityFile: learned };
}

function rootOf({ baseDirectory }: SimulatedHostsSettings, node: string): string {
  return join(baseDirectory, node);
}

function bootReportsOf(
  settings: SimulatedHostsSettings,
  node: string,
  running: Running,
): BootReports | undefined {
  const { apiServer, baseDirectory } = settings;
  if (apiServer === undefined) return undefined;
  const credentials = settings.credentials(node);
  const authorityFile = settings.apiServerAuthorityFile ?? credentials.authorityFile;
  return createBootReports({
    ...running,
    node,
    kubelet: createSimulatedKubelet({ ...credentials, node, apiServer, authorityFile }),
    owedFile: join(baseDirectory, `.${node}.down`),
  });
}

/** As with Ignition, if requested and the machine has no config. */
async function firstBoot(
  settings: SimulatedHostsSettings,
  { host, machine }: MadeHost,
  { signal, log }: Running,
): Promise<string | undefined> {
  const { node, ports } = host;
  const current = await readCurrentConfig(ports.files);
  const name = settings.firstBoot;
  if (current !== undefined || name === undefined) {
    machine.enableFailures();
    return current?.reference.name;
  }
  const bytes = await untilAvailable(
    `host endpoint at ${settings.serverUrl} for ${node}`,
    () => ports.configs.fetch(name, signal),
    { log, signal },
  );
  const alone: HostPorts = {
    ...ports,
    now: () => new Date(),
    reboot: { request: () => undefined },
    context: () => ({ signal, progress: () => undefined }),
  };
  await installFirstConfig(alone, name, bytes, ({ spec }) =>
    machine.os.install({
      image: spec.osImageURL,
      kernelArguments: splitKernelArguments(spec.kernelArguments),
      extensions: spec.extensions,
      kernelType: canonicalKernelType(spec.kernelType),
    }),
  );
  machine.enableFailures();
  log.info({ node, config: name }, 'simulated first boot');
  return name;
}

function simulatedAround(
  activities: HostActivities,
  machine: SimulatedMachine,
  failures: FailurePlan,
): HostActivities {
  const { node, pace } = machine;
  return {
    ...activities,
    async prepareUpdate(order) {
      if (failures.strikes(node, 'prepare')) {
        throw fail('ApplyFailed', 'simulated failure: the image cannot be staged');
      }
      return activities.prepareUpdate(order);
    },
    async applyUpdate(order) {
      const applied = await activities.applyUpdate(order);
      // Afterwards: an interrupted update has something to undo.
      await pace.take('apply', currentStep().signal);
      return applied;
    },
    async performServiceActions(order) {
      await activities.performServiceActions(order);
      await pace.take('service', currentStep().signal);
    },
    async verifyUpdate(order) {
      const verified = await activities.verifyUpdate(order);
      if (failures.strikes(node, 'verify')) {
        throw fail('VerifyFailed', 'simulated failure: a service does not come up');
      }
      return verified;
    },
  };
}

interface PowerCycle extends Running {
  readonly machine: SimulatedMachine;
  readonly reports: BootReports | undefined;
  readonly failures: FailurePlan;
}

/** The Node object follows when the API server is reachable. */
async function powerCycle(input: PowerCycle): Promise<void> {
  const { machine, reports, failures, signal, log } = input;
  const { node } = machine;
  const { bootId: before } = await machine.os.status();
  await reports?.down(before);
  await machine.pace.take('reboot', signal);
  const bootId = await machine.os.boot({ broken: failures.strikes(node, 'boot') });
  log.info({ node, bootId }, 'simulated machine booted');
  // A host worker serves its queue also without the API server.
  void reports?.up(bootId);
}
