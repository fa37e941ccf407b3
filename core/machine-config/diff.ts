/**
 * The difference between two configs as MCO's daemon sees it: one flag per section, and the changed
 * paths and unit names.
 */

import type { IgnitionConfig, IgnitionFile, IgnitionUnit } from './types';

export interface DiffableSpec {
  readonly osImageURL?: string;
  /** Ignition 3.5. */
  readonly config: IgnitionConfig;
  readonly kernelArguments?: readonly string[];
  readonly extensions?: readonly string[];
  readonly fips?: boolean;
  readonly kernelType?: string;
}

/** Which sections differ, in the order of MCO's text form. */
export interface MachineConfigDiff {
  readonly osUpdate: boolean;
  readonly kargs: boolean;
  readonly fips: boolean;
  readonly passwd: boolean;
  readonly files: boolean;
  readonly units: boolean;
  readonly kernelType: boolean;
  readonly extensions: boolean;
  /** Always false: images built on the cluster are not part of a rendered spec. */
  readonly oclEnabled: boolean;
  readonly revertFromOCL: boolean;
}

/**
 * Compares two specs section by section.
 *
 * Files, units and users are compared as written and in order. Missing and empty lists of kernel
 * arguments and extensions are equal; an empty kernel type is `default`. Directories, links and
 * disks are ignored.
 *
 * @see MCO pkg/daemon/update.go, newMachineConfigDiff (7ff337a4)
 */
export function diffMachineConfigs(old: DiffableSpec, desired: DiffableSpec): MachineConfigDiff {
  return {
    osUpdate: (old.osImageURL ?? '') !== (desired.osImageURL ?? ''),
    kargs: !sameList(old.kernelArguments, desired.kernelArguments),
    fips: (old.fips ?? false) !== (desired.fips ?? false),
    passwd: !sameValue(old.config.passwd, desired.config.passwd),
    files: !sameValue(old.config.storage?.files, desired.config.storage?.files),
    units: !sameValue(old.config.systemd?.units, desired.config.systemd?.units),
    kernelType: canonicalKernelType(old.kernelType) !== canonicalKernelType(desired.kernelType),
    extensions: !sameList(old.extensions, desired.extensions),
    oclEnabled: false,
    revertFromOCL: false,
  };
}

/** The kernel of a spec; unknown and absent types are `default`. */
export function canonicalKernelType(kernelType: string | undefined): string {
  return kernelType === 'realtime' || kernelType === '64k-pages' ? kernelType : 'default';
}

/** Paths that are new or different, and paths that are removed; each sorted. */
interface ChangedFiles {
  readonly changed: readonly string[];
  readonly removed: readonly string[];
}

/**
 * The files that an update touches. Reordering touches none; of two entries with one path the later
 * counts.
 *
 * @see MCO pkg/controller/common/helpers.go, CalculateConfigFileDiffs (7ff337a4)
 */
export function changedFiles(old: IgnitionConfig, desired: IgnitionConfig): ChangedFiles {
  const before = byKey(old.storage?.files ?? [], (file: IgnitionFile) => file.path);
  const after = byKey(desired.storage?.files ?? [], (file: IgnitionFile) => file.path);
  return {
    changed: [...after.keys()]
      .filter((path) => !sameValue(before.get(path), after.get(path)))
      .sort(),
    removed: [...before.keys()].filter((path) => !after.has(path)).sort(),
  };
}

/** Unit names in config order. */
interface ChangedUnits {
  readonly added: readonly string[];
  readonly updated: readonly string[];
  readonly removed: readonly string[];
}

/**
 * The units that an update touches, with drop-ins, enablement and masks.
 *
 * @see MCO pkg/controller/common/helpers.go, GetChangedConfigUnitsByType (7ff337a4)
 */
export function changedUnits(old: IgnitionConfig, desired: IgnitionConfig): ChangedUnits {
  const before = byKey(old.systemd?.units ?? [], (unit: IgnitionUnit) => unit.name);
  const after = byKey(desired.systemd?.units ?? [], (unit: IgnitionUnit) => unit.name);
  const names = [...after.keys()];
  return {
    added: names.filter((name) => !before.has(name)),
    updated: names.filter(
      (name) => before.has(name) && !sameValue(before.get(name), after.get(name)),
    ),
    removed: [...before.keys()].filter((name) => !after.has(name)),
  };
}

/** The parts of `passwd` that a running machine can change. */
interface PasswdChanges {
  readonly sshKeysChanged: boolean;
  readonly passwordChanged: boolean;
}

/** Keys of all users count together, because they end up in one file; their order counts. */
export function passwdChanges(old: IgnitionConfig, desired: IgnitionConfig): PasswdChanges {
  const keys = (config: IgnitionConfig): readonly string[] =>
    (config.passwd?.users ?? []).flatMap((user) => user.sshAuthorizedKeys ?? []);
  const hashes = (config: IgnitionConfig): readonly string[] =>
    (config.passwd?.users ?? []).flatMap(({ name, passwordHash = '' }) =>
      passwordHash === '' ? [] : [`${name}:${passwordHash}`],
    );
  return {
    sshKeysChanged: !sameList(keys(old), keys(desired)),
    passwordChanged: !sameList(hashes(old), hashes(desired)),
  };
}

function byKey<T>(entries: readonly T[], key: (entry: T) => string): ReadonlyMap<string, T> {
  return new Map(entries.map((entry) => [key(entry), entry]));
}

function sameList(a: readonly string[] = [], b: readonly string[] = []): boolean {
  return a.length === b.length && a.every((entry, i) => entry === b[i]);
}

/**
 * Go's deep equality of parsed Ignition values: absent, `null` and an object without fields are
 * equal, an absent list differs from an empty one, and only the order of lists matters.
 */
function sameValue(a: unknown, b: unknown): boolean {
  if (isBlank(a) || isBlank(b)) return isBlank(a) && isBlank(b);
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((entry, i) => sameValue(entry, b[i]));
  }
  if (isObject(a) && isObject(b)) {
    const fields = new Set([...Object.keys(a), ...Object.keys(b)]);
    return [...fields].every((field) => sameValue(a[field], b[field]));
  }
  return a === b;
}

function isBlank(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  return isObject(value) && Object.values(value).every(isBlank);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
