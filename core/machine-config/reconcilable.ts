/**
 * Whether a running machine can change from one config to another, or would have to be
 * reprovisioned.
 *
 * @see MCO pkg/controller/common/reconcile.go (7ff337a4)
 */

import { fail, failureName, messageOf } from '../errors';
import {
  ignitionEqual,
  listOf,
  parseAndConvert,
  readRawIgnition,
  structOf,
  validateIgnition,
  without,
  wordOf,
  type IgnitionObject,
  type RenderPorts,
} from '../ignition';
import type { MachineConfig } from './types';

/** Sections of `storage` whose changes an administrator permits although nothing applies them. */
export type StorageOverride = 'Disks' | 'FileSystems' | 'Raid';

interface ReconcilableOptions {
  readonly ports: Pick<RenderPorts, 'gunzip'>;
  readonly storageOverrides?: readonly StorageOverride[];
  /** The decision for two readable configs; absent = `ignitionReason`. */
  readonly reason?: typeof ignitionReason;
}

/** With this file a host skips its own checks, so no config may bring it. */
const FORCE_FILE = '/run/machine-config-daemon-force';
const CORE_USER = 'core';

/**
 * Why the change cannot be made, in MCO's words, or undefined when it can.
 *
 * MCO's text swaps the names of the two configs; this is kept because the text is compared.
 */
export function irreconcilableReason(
  current: MachineConfig,
  next: MachineConfig,
  options: ReconcilableOptions,
): string | undefined {
  const old = readConfig(current, 'old', options);
  return 'reason' in old ? old.reason : reasonAgainst(current, old.config, next, options);
}

/**
 * The same for several configs against one, which is read once. Undefined entries are reconcilable.
 */
function irreconcilableReasons(
  current: MachineConfig,
  candidates: readonly MachineConfig[],
  options: ReconcilableOptions,
): readonly (string | undefined)[] {
  const old = readConfig(current, 'old', options);
  return candidates.map((candidate) =>
    'reason' in old ? old.reason : reasonAgainst(current, old.config, candidate, options),
  );
}

type Read = { readonly config: IgnitionObject } | { readonly reason: string };

function readConfig(
  machineConfig: MachineConfig,
  which: 'old' | 'new',
  options: ReconcilableOptions,
): Read {
  const { name } = machineConfig.metadata;
  try {
    const raw = readRawIgnition(machineConfig.spec.config, options.ports);
    return { config: parseAndConvert(raw) };
  } catch (error) {
    if (failureName(error) !== 'InvalidIgnition') throw error;
    const why = messageOf(error);
    return {
      reason: `parsing ${which} Ignition config from machineconfig "${name}" failed: ${why}`,
    };
  }
}

/** Whether a config can be compared: it can be read, and validates. */
export function isReadable(
  machineConfig: MachineConfig,
  ports: Pick<RenderPorts, 'gunzip'>,
): boolean {
  return 'config' in readConfig(machineConfig, 'old', { ports });
}

function reasonAgainst(
  current: MachineConfig,
  old: IgnitionObject,
  next: MachineConfig,
  options: ReconcilableOptions,
): string | undefined {
  const read = readConfig(next, 'new', options);
  if ('reason' in read) return read.reason;
  const [currentName, nextName] = [current.metadata.name, next.metadata.name];
  try {
    validateIgnition(read.config);
  } catch (error) {
    if (failureName(error) !== 'InvalidIgnition') throw error;
    const why = messageOf(error);
    return `validating new Ignition config from machineconfig "${nextName}" failed: ${why}`;
  }
  const { storageOverrides = [], reason: ofIgnition = ignitionReason } = options;
  const reason = ofIgnition(old, read.config, storageOverrides) ?? fipsReason(current, next);
  if (reason === undefined) return undefined;
  return `new machineconfig "${currentName}" is not reconcilable against "${nextName}": ${reason}`;
}

export function ignitionReason(
  old: IgnitionObject,
  next: IgnitionObject,
  overrides: readonly StorageOverride[],
): string | undefined {
  const passwd = passwdReason(structOf(old['passwd']), structOf(next['passwd']));
  if (passwd !== undefined) return `invalid passwd change(s): ${passwd}`;
  if (!ignitionEqual(structOf(old['kernelArguments']), structOf(next['kernelArguments']))) {
    return 'ignition kargs section contains changes';
  }
  return (
    storageReason(structOf(old['storage']), structOf(next['storage']), overrides) ??
    fileReason(listOf(structOf(next['storage'])['files']))
  );
}

const STORAGE_SECTIONS: readonly (readonly [string, StorageOverride | undefined])[] = [
  ['disks', 'Disks'],
  ['filesystems', 'FileSystems'],
  ['raid', 'Raid'],
  ['directories', undefined],
];

function storageReason(
  old: IgnitionObject,
  next: IgnitionObject,
  overrides: readonly StorageOverride[],
): string | undefined {
  const changed = STORAGE_SECTIONS.find(([section, override]) => {
    if (override !== undefined && overrides.includes(override)) return false;
    return !ignitionEqual(old[section], next[section]);
  });
  if (changed !== undefined) return `ignition ${changed[0]} section contains changes`;
  // Links are not supported, but a config may drop them.
  const links = next['links'];
  if (ignitionEqual(old['links'], links) || listOf(links).length === 0) return undefined;
  return 'ignition links section contains changes';
}

function fileReason(files: readonly IgnitionObject[]): string | undefined {
  for (const file of files) {
    const path = wordOf(file['path']);
    if (listOf(file['append']).length > 0) {
      return `ignition file ${path} includes append`;
    }
    if (path === FORCE_FILE) return `cannot create ${path} via Ignition`;
  }
  return undefined;
}

function passwdReason(old: IgnitionObject, next: IgnitionObject): string | undefined {
  if (!ignitionEqual(old['groups'], next['groups'])) {
    return 'ignition Passwd Groups section contains changes';
  }
  if (ignitionEqual(old['users'], next['users'])) return undefined;
  const users = listOf(next['users']);
  const section = 'ignition passwd user section contains unsupported changes';
  if (users.some((user) => user['name'] !== CORE_USER)) return `${section}: non-core user`;
  const last = users.at(-1);
  if (last === undefined) return undefined;
  if (last['passwordHash'] === undefined && listOf(last['sshAuthorizedKeys']).length === 0) {
    return `${section}: user must be core and have 1 or more sshKeys`;
  }
  const others = without(last, 'name', 'passwordHash', 'sshAuthorizedKeys');
  return Object.keys(others).length === 0
    ? undefined
    : 'SSH keys and password hash are not reconcilable';
}

function fipsReason(current: MachineConfig, next: MachineConfig): string | undefined {
  if ((current.spec.fips ?? false) === (next.spec.fips ?? false)) return undefined;
  return 'detected change to FIPS flag; refusing to modify FIPS on a running cluster';
}

/**
 * Refuses a rendered config that a running pool cannot take, naming the MachineConfig when one
 * alone causes it.
 *
 * @param sources - in merge order
 * @throws Unreconcilable with MCO's words
 * @see MCO pkg/controller/render/render_controller.go (7ff337a4),
 * generateAndValidateRenderedMachineConfig
 */
export function refuseUnreconcilable(
  current: MachineConfig,
  rendered: MachineConfig,
  sources: readonly MachineConfig[],
  options: ReconcilableOptions,
): void {
  const full = irreconcilableReason(current, rendered, options);
  if (full === undefined) return;
  const reasons = irreconcilableReasons(current, sources, options);
  for (const [i, single] of reasons.entries()) {
    const cause = single?.slice(single.indexOf(': ') + 2);
    if (single === undefined || cause === undefined || !single.includes(': ')) continue;
    if (!full.includes(cause)) continue;
    const culprit = sources[i]?.metadata.name ?? '';
    throw fail(
      'Unreconcilable',
      `reconciliation failed between current config "${current.metadata.name}" and base config "${culprit}": ${cause}`,
      { machineConfig: culprit },
    );
  }
  const component = reasons.find((reason) => reason !== undefined) ?? '<nil>';
  throw fail(
    'Unreconcilable',
    `render reconciliation error: ${full}; component errors: ${component}`,
  );
}
