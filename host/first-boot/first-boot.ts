/** The first config of a machine, written by the same code as every later one. */

import { fail } from '../../core/errors';
import { originalPath } from '../../core/machine-config';
import { canonicalConfig } from '../../core/machine-config/canonical';
import { missingArguments } from '../../core/os';
import type { HostOrder } from '../../workflows/host-contracts';
import { applyUpdate } from '../update/apply';
import { claimOf, hostPaths } from '../paths/appended';
import { armReboot } from '../update/arm-reboot';
import { writeCommitted } from '../records/committed-deployment';
import { changeWithDirectories } from '../paths/directories';
import { findDrift, findOsDrift } from '../drift/compare';
import { commitUpdate } from '../update/verify-and-commit';
import { closeFirstBoot, type FirstConfig, readFirstConfig } from './ignition-files';
import { openJournal } from '../transaction/open-journal';
import { keepOriginal } from '../paths/originals';
import {
  type HostPorts,
  markOf,
  type OpenJournal,
  type OsStatus,
  type UpdateHeader,
} from '../ports';
import { prepareUpdate } from '../update/prepare';
import { proveRunning } from '../update/prove-running';
import {
  type HostConfig,
  keepConfig,
  readCurrentConfig,
  readUnordered,
  sameConfig,
  writeCurrentConfig,
} from '../records/configs';
import { hasRebooted } from '../settle/settle-for-order';
import { settleAtStart } from '../settle/settle-at-start';

/**
 * Writes a config to a machine that has none and makes it the current one. `install` gives the
 * machine its operating system before: image, kernel arguments, extensions.
 *
 * @param bytes - canonical bytes of the config, as the server answers them
 */
export async function installFirstConfig(
  ports: HostPorts,
  name: string,
  bytes: Buffer,
  install: (config: HostConfig) => Promise<void>,
): Promise<HostConfig> {
  const config = readUnordered(bytes, name);
  await keepConfig(ports.files, 'desired', config);
  await install(config);
  const order = firstOrder(ports, config);
  await applyUpdate(ports, order);
  await commitUpdate(ports, order);
  return config;
}

/** How far a first boot is. */
export type FirstBoot =
  /** Ignition left nothing to do, or it was done. */
  | { readonly kind: 'none' }
  | { readonly kind: 'complete'; readonly config: string }
  /** The operating system is staged and released, and takes over at the next boot. */
  | { readonly kind: 'reboot'; readonly config: string };

/**
 * Completes what Ignition has begun: image, kernel arguments and extensions, as an update from the
 * config without them to the whole config, through the same journal. What Ignition wrote counts as
 * written by that config. Does one step up to a reboot; a crash anywhere is settled as in any update,
 * and the next call goes on from there. A machine that has all of it already does not reboot.
 *
 * @param beforeReboot - asked before the reboot is armed; what it throws keeps the machine from it
 * @throws whatever an update throws; `ConfigDrift` when the disk is not as Ignition should have left it
 */
export async function completeFirstBoot(
  given: HostPorts,
  beforeReboot: () => Promise<void> = () => Promise.resolve(),
): Promise<FirstBoot> {
  const first = await readFirstConfig(given.files);
  if (first === undefined) return { kind: 'none' };
  const { config } = first;
  const ports = { ...given, configs: havingConfig(given, config) };
  const { name } = config.reference;
  const order = firstOrder(ports, config);
  // A reboot that was due before this began, and has been counted if it was to be.
  const { reboot } = await settleAtStart(ports);
  if (reboot !== undefined) return { kind: 'reboot', config: name };
  const journal = await openJournal(ports);
  const current = await readCurrentConfig(ports.files);
  if (journal === undefined && current !== undefined && isComplete(current, config)) {
    await end(ports, first);
    return { kind: 'complete', config: current.reference.name };
  }
  await keepConfig(ports.files, 'desired', config);
  if (journal === undefined || !(await isBooted(ports, journal, order))) {
    if (current === undefined) await adopt(ports, config);
    const { plan, alreadyOnTarget } = await prepareUpdate(ports, order);
    if (alreadyOnTarget) {
      await end(ports, first);
      return { kind: 'complete', config: name };
    }
    await applyUpdate(ports, order);
    if (plan.reboot) {
      await beforeReboot();
      await armReboot(ports, order);
      return { kind: 'reboot', config: name };
    }
  }
  await prove(ports, config);
  await commitUpdate(ports, order);
  await end(ports, first);
  return { kind: 'complete', config: name };
}

/** The config is here already, also when an attempt that was undone has dropped what was kept of it. */
function havingConfig({ configs }: HostPorts, config: HostConfig): HostPorts['configs'] {
  const { name } = config.reference;
  const bytes = Buffer.from(
    canonicalConfig({ metadata: { name }, spec: config.raw as HostConfig['spec'] }),
  );
  return {
    ...configs,
    fetch: (wanted, signal) =>
      wanted === name ? Promise.resolve(bytes) : configs.fetch(wanted, signal),
  };
}

/**
 * The machine is on the config that the cluster knows: with kernel arguments of its Ignition among its
 * own, it would be taken for one that has yet to be updated, and would lose them.
 */
async function end(ports: HostPorts, { config, rendered }: FirstConfig): Promise<void> {
  const current = await readCurrentConfig(ports.files);
  if (current !== undefined && sameConfig(current.reference, config.reference)) {
    await writeCommitted(ports.files, rendered.reference, await ports.os.status());
    await writeCurrentConfig(ports.files, rendered);
  }
  await closeFirstBoot(ports.files);
}

/** Committed before a crash; or the machine has been given another config since, which is its own. */
function isComplete(current: HostConfig, first: HostConfig): boolean {
  return current.reference.name !== nameFromIgnition(first);
}

/** The armed reboot took place, and into what it should. */
async function isBooted(
  ports: HostPorts,
  journal: OpenJournal,
  order: HostOrder,
): Promise<boolean> {
  if (!sameConfig(journal.header.target, order.config)) return false;
  const status = await ports.os.status();
  if (markOf(journal, 'goingBack') !== undefined || !hasRebooted(journal, status)) return false;
  return status.booted.id === markOf(journal, 'armed')?.expected;
}

/**
 * Takes what Ignition wrote for the files of a config of its own: the one that was served, with the
 * operating system that is there. What the image has at those paths is kept as their original.
 */
async function adopt(ports: HostPorts, config: HostConfig): Promise<void> {
  const { files } = ports;
  const originals = [];
  for (const [path, wanted] of await hostPaths(files, config.spec)) {
    if (wanted.part === 'sshKeys' || wanted.kind === 'absent') continue;
    const kept = await keepOriginal(files, path, claimOf(wanted));
    originals.push(...kept.filter((change) => change.path === originalPath(path)));
  }
  await changeWithDirectories(ports, originals);
  await writeCurrentConfig(files, fromIgnition(config, await ports.os.status()));
}

/** The served config with what is true already of the operating system. */
function fromIgnition(config: HostConfig, { booted }: OsStatus): HostConfig {
  const { spec, raw } = config;
  const has = (argument: string): boolean =>
    missingArguments([argument], booted.kernelArguments).length === 0;
  const before = {
    osImageURL: booted.image ?? '',
    kernelArguments: spec.kernelArguments.filter(has),
    extensions: spec.extensions.filter((name) => booted.extensions.includes(name)),
    kernelType: booted.kernelType,
  };
  const name = nameFromIgnition(config);
  return {
    reference: { name, digest: '' },
    spec: { ...spec, ...before },
    raw: { ...(raw as object), ...before },
  };
}

/** What the machine is on until its first boot is complete. */
function nameFromIgnition({ reference }: HostConfig): string {
  return `${reference.name}-from-ignition`;
}

/** Before the kubelet and most units have started, so only disk and operating system are looked at. */
async function prove(ports: HostPorts, { spec }: HostConfig): Promise<void> {
  const status = await ports.os.status();
  const drift = await findDrift(ports, spec);
  if (drift !== undefined) throw fail('VerifyFailed', drift.reason, { path: drift.path });
  if (!ports.os.managesOs) return;
  const osDrift = findOsDrift(status, spec);
  if (osDrift !== undefined) throw fail('VerifyFailed', osDrift);
  await proveRunning(ports, status, spec);
}

/** Nobody orders a first boot, and nobody else begins another one when it takes long. */
const NEVER = '9999-12-31T23:59:59.999Z';
const FIRST_BOOT = 'first-boot/';

/** Whether a first boot has begun it. */
export function isOfFirstBoot({ orderId }: Pick<UpdateHeader, 'orderId'>): boolean {
  return orderId.startsWith(FIRST_BOOT);
}

function firstOrder(ports: HostPorts, { reference }: HostConfig): HostOrder {
  return {
    orderId: `${FIRST_BOOT}${reference.name}`,
    node: ports.node,
    config: reference,
    disruptionPolicies: {},
    notAfter: NEVER,
  };
}
