import { fail } from '../../core/errors';
import { originalPath } from '../../core/machine-config';
import { canonicalConfig } from '../../core/machine-config/canonical';
import { missingArguments } from '../../core/os';
import type { UpdateOrder } from '../../workflows/contracts/host';
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
 * Writes a config to a machine that has none, with the code for all later ones. `install` first
 * sets the operating system: image, kernel arguments, extensions.
 *
 * @param bytes - canonical bytes of the config, as the server sends them
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

export type FirstBoot =
  /** Ignition left nothing to do, or it is done. */
  | { readonly kind: 'none' }
  | { readonly kind: 'complete'; readonly config: string }
  /** The operating system is staged and released for the next boot. */
  | { readonly kind: 'reboot'; readonly config: string };

/**
 * Completes what Ignition began (image, kernel arguments, extensions) through the same journal, up
 * to a reboot. The next call continues, also after a crash.
 *
 * @param beforeReboot - called before the reboot is armed; an error prevents the reboot
 * @throws the errors of an update; `ConfigDrift` when the disk differs from what Ignition should
 *   write
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
  // A reboot from before this call is counted already.
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

/** From memory: an undone attempt may have dropped the stored copy. */
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
 * With the kernel arguments of its Ignition config, the machine would count as not updated and lose
 * them.
 */
async function end(ports: HostPorts, { config, rendered }: FirstConfig): Promise<void> {
  const current = await readCurrentConfig(ports.files);
  if (current !== undefined && sameConfig(current.reference, config.reference)) {
    await writeCommitted(ports.files, rendered.reference, await ports.os.status());
    await writeCurrentConfig(ports.files, rendered);
  }
  await closeFirstBoot(ports.files);
}

/** Committed before a crash, or updated since. */
function isComplete(current: HostConfig, first: HostConfig): boolean {
  return current.reference.name !== nameFromIgnition(first);
}

async function isBooted(
  ports: HostPorts,
  journal: OpenJournal,
  order: UpdateOrder,
): Promise<boolean> {
  if (!sameConfig(journal.header.target, order.config)) return false;
  const status = await ports.os.status();
  if (markOf(journal, 'goingBack') !== undefined || !hasRebooted(journal, status)) return false;
  return status.booted.id === markOf(journal, 'armed')?.expected;
}

/**
 * Treats Ignition's files as those of a config: the served one, with the present operating system.
 * The image's files there are kept as originals.
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

/** Until the first boot is complete. */
function nameFromIgnition({ reference }: HostConfig): string {
  return `${reference.name}-from-ignition`;
}

/** Only disk and operating system: the kubelet and most units start later. */
async function prove(ports: HostPorts, { spec }: HostConfig): Promise<void> {
  const status = await ports.os.status();
  const drift = await findDrift(ports, spec);
  if (drift !== undefined) throw fail('VerifyFailed', drift.reason, { path: drift.path });
  if (!ports.os.managesOs) return;
  const osDrift = findOsDrift(status, spec);
  if (osDrift !== undefined) throw fail('VerifyFailed', osDrift);
  await proveRunning(ports, status, spec);
}

/** A first boot has no order. */
const NEVER = '9999-12-31T23:59:59.999Z';
const FIRST_BOOT = 'first-boot/';

/** How long a machine may be without Temporal after its first boot, which no order precedes. */
export const FIRST_BOOT_RECONNECT_SECONDS = 600;

export function isOfFirstBoot({ orderId }: Pick<UpdateHeader, 'orderId'>): boolean {
  return orderId.startsWith(FIRST_BOOT);
}

function firstOrder(ports: HostPorts, { reference }: HostConfig): UpdateOrder {
  return {
    orderId: `${FIRST_BOOT}${reference.name}`,
    node: ports.node,
    config: reference,
    disruptionPolicies: {},
    notAfter: NEVER,
  };
}
