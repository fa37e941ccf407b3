/** The machine's own knowledge of itself, for a person at its console. Contacts no server. */

import { findForeignDeployment } from '../records/committed-deployment';
import { otherDriver } from '../transaction/open-journal';
import {
  type HostPorts,
  type MachinePorts,
  markOf,
  type OpenJournal,
  type OsStatus,
} from '../ports';
import { readCurrentConfig } from '../records/configs';
import { foreignText, isForeign, standingOf } from '../transaction/unfinished-update';
import { FIRST_BOOT_PLACES } from '../first-boot/ignition-files';
import { type FirstBootRecord, readFirstBoot } from '../first-boot/first-boot-record';
import { createMachineTree, learnedOrderKeysFile, OrderKeyFiles } from '../../adapters/host';
import { messageOf } from '../../core/errors';
import type { FoundKubelet, KubeletSettings } from '../../core/machine/kubelet';
import { findUpdaters, updatersText } from '../../core/machine/updaters';
import { lookForKubelet, otherNode } from '../kubelet';
import { type WorkerState, isRunning, readWorkerState } from './worker-state';

interface ExaminedMachine {
  readonly node: string;
  readonly root: string;
  readonly kubelet: KubeletSettings;
  readonly orderKeysFile: string;
  /** Absent: the kubelet is not asked. */
  readonly kubeletHealthUrl?: string;
  /** Ports that change nothing, and the OS driver with the reason for it. */
  readonly open: () => Promise<{
    readonly ports: MachinePorts;
    readonly driver: NonNullable<MachineStatus['driver']>;
  }>;
}

interface OpenUpdate {
  readonly target: string;
  readonly previous?: string;
  readonly orderId: string;
  /** `writing`, or the last mark of its journal. */
  readonly phase: string;
  /** The next action of the program before the kubelet. */
  readonly standing: string;
  readonly reboots: boolean;
}

export interface KubeletStatus extends FoundKubelet {
  readonly healthUrl?: string;
}

export interface MachineStatus {
  readonly node: string;
  /** By the machine's own record. */
  readonly currentConfig?: string;
  readonly driver?: { readonly name: string; readonly why: string };
  readonly os?: OsStatus;
  readonly kubelet?: KubeletStatus;
  /** IDs of the keys whose orders it obeys. */
  readonly orderKeys?: readonly string[];
  readonly update?: OpenUpdate;
  /** Until the first boot is complete. */
  readonly firstBoot?: FirstBootRecord;
  readonly worker?: WorkerState & { readonly running: boolean };
  readonly problems: readonly string[];
}

/** An unreadable part becomes a problem in the answer, never an exception. */
export async function readMachineStatus(machine: ExaminedMachine): Promise<MachineStatus> {
  const { node, root } = machine;
  const problems: string[] = [];
  async function attempt<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      problems.push(messageOf(error));
      return undefined;
    }
  }
  const opened = await attempt(() => machine.open());
  const ports = opened?.ports;
  const config = await attempt(async () => ports && readCurrentConfig(ports.files));
  const os = await attempt(async () => ports?.os.status());
  const journal = await attempt(async () => ports?.journal.open());
  const other = ports && journal && otherDriver(ports, journal);
  if (other !== undefined) problems.push(other);
  else if (ports !== undefined && os !== undefined) {
    const foreign = await attempt(() => foreignDeployment(ports, os, journal));
    if (foreign !== undefined) problems.push(foreign);
  }
  const firstBoot = await attempt(async () => ports && openFirstBoot(ports.files));
  if (firstBoot?.state === 'failed' || firstBoot?.state === 'waiting') {
    problems.push(`the first boot is not complete: ${firstBoot.reason ?? 'no reason is known'}`);
  }
  const kubelet = await attempt(async () => kubeletStatus(machine));
  const stranger = await attempt(async () => kubelet && otherNode(node, kubelet));
  if (stranger !== undefined) problems.push(stranger);
  const orderKeys = await attempt(() => knownKeys(machine));
  const updaters = (await attempt(async () => findUpdaters(createMachineTree(root)))) ?? [];
  if (updaters.length > 0) problems.push(updatersText(updaters));
  const state = readWorkerState(root);
  return {
    node,
    ...(config === undefined ? {} : { currentConfig: config.reference.name }),
    ...(opened === undefined ? {} : { driver: opened.driver }),
    ...(os === undefined ? {} : { os }),
    ...(kubelet === undefined ? {} : { kubelet }),
    ...(orderKeys === undefined ? {} : { orderKeys }),
    ...(journal === undefined ? {} : { update: updateOf(journal, os) }),
    ...(firstBoot === undefined || firstBoot.state === 'complete' ? {} : { firstBoot }),
    ...(state === undefined ? {} : { worker: { ...state, running: isRunning(state) } }),
    problems,
  };
}

function kubeletStatus(machine: ExaminedMachine): KubeletStatus {
  const { kubeletHealthUrl } = machine;
  const found = lookForKubelet(machine);
  return { ...found, ...(kubeletHealthUrl === undefined ? {} : { healthUrl: kubeletHealthUrl }) };
}

async function knownKeys({ orderKeysFile, root }: ExaminedMachine): Promise<readonly string[]> {
  const { keys } = await new OrderKeyFiles(orderKeysFile, learnedOrderKeysFile(root)).known();
  return keys.map(({ id }) => id);
}

/** A crash or a person may end the first boot without a note: then its record does not count. */
async function openFirstBoot(files: HostPorts['files']): Promise<FirstBootRecord | undefined> {
  const { kind } = await files.facts(FIRST_BOOT_PLACES.ENCAPSULATED);
  return kind === 'absent' ? undefined : readFirstBoot(files);
}

async function foreignDeployment(
  ports: Pick<HostPorts, 'node' | 'files' | 'os'>,
  os: OsStatus,
  journal: OpenJournal | undefined,
): Promise<string | undefined> {
  if (journal !== undefined) {
    return isForeign(journal, os) ? foreignText(ports.node, journal, os) : undefined;
  }
  return findForeignDeployment(ports, os);
}

function updateOf(journal: OpenJournal, os: OsStatus | undefined): OpenUpdate {
  const { target, previous, orderId, plan } = journal.header;
  return {
    target: target.name,
    ...(previous === undefined ? {} : { previous: previous.name }),
    orderId,
    phase: journal.marks().at(-1)?.kind ?? 'writing',
    standing: os === undefined ? 'unknown' : standingText(journal, os),
    reboots: plan.reboot,
  };
}

function standingText(journal: OpenJournal, os: OsStatus): string {
  const standing = standingOf(journal, os, new Date());
  switch (standing.kind) {
    case 'asLeft':
      return 'orders continue from here';
    case 'adopted':
      return 'complete after a reboot without an order: orders continue';
    case 'rebootDue':
      return `its reboot is due since ${markOf(journal, 'armed')?.bootId ?? 'this boot'}`;
    case 'undo':
      return `to be undone: ${standing.because}`;
    case 'goOnBack':
      return standing.reboots
        ? 'rolling back: a reboot into the old deployment is due'
        : 'rolling back: an order began it and did not end, so its reboot waits for an order';
    case 'foreign':
      return 'left alone: a person booted another deployment';
    case 'stuck':
      return `rollback stuck after ${standing.boots} boots`;
  }
}
