/**
 * Problems of merged MachineConfigs that are valid alone: the result could not be read again, or no
 * host could write it. MCO renders it, and then refuses every later render of the pool.
 */

import { fail } from '../errors';
import {
  listOf,
  readIgnition,
  readRawIgnition,
  structOf,
  wordOf,
  type Finding,
  type IgnitionObject,
} from '../ignition';
import { hashProblem, type ContentPorts } from './admission-contents';
import { sharedIdProblems } from './admission-accounts';
import { enablingClashes } from './admission-clashes';
import { mergedInstallProblems } from './admission-install';
import { kernelArgumentProblems } from './admission-kernel-arguments';
import { configField, describeProblem, type AdmissionProblem } from './admission-problem';
import { isSpecialKernel } from './merge';
import { entriesOf, ownedEntries, ownerOf, type Entry, type OwnedEntry } from './merged-entries';
import type { Source } from './source';

/**
 * Refuses a merged config with any such problem.
 *
 * @param config - of the rendered spec
 * @param sources - in merge order
 * @throws InvalidMachineConfig naming the MachineConfigs, with the problems in its details
 */
export function refuseInvalidMerge(
  config: unknown,
  sources: readonly Source[],
  ports: ContentPorts,
): void {
  const merged = config as IgnitionObject;
  const raw = readRawIgnition(config, ports);
  const read = raw === undefined ? { config: merged } : readIgnition(raw);
  const findings = 'config' in read ? [] : read.errors;
  const entries = entriesOf(merged);
  const below = belowFiles(entries);
  const more = [
    ...inheritedHashes(merged, sources, ports),
    ...mergedInstallProblems(merged, sources),
    ...enablingClashes(merged, sources),
    ...sharedIdProblems(merged, sources),
    ...kernelArgumentProblems(sources),
    ...kernelDevelProblems(sources),
  ];
  if ('config' in read && below.length === 0 && more.length === 0) return;
  const owned = sources.flatMap(ownedEntries);
  const problems = [
    ...findings.map((finding) => mergedProblem(finding, entries, owned, sources)),
    ...below.map(([entry, file]) => belowProblem(entry, file, owned)),
    ...more,
  ];
  throw fail('InvalidMachineConfig', problems.map(describeProblem).join('\n'), { problems });
}

/** Entries below a file or unit, with the first of these. */
function belowFiles(entries: readonly Entry[]): readonly (readonly [Entry, Entry])[] {
  const leaves = new Map(
    entries
      .filter(({ kind }) => kind === 'file' || kind === 'unit')
      .map((entry) => [entry.path, entry]),
  );
  return entries.flatMap((entry): (readonly [Entry, Entry])[] => {
    for (let at = entry.path.indexOf('/', 1); at > 0; at = entry.path.indexOf('/', at + 1)) {
      const leaf = leaves.get(entry.path.slice(0, at));
      if (leaf !== undefined) return [[entry, leaf]];
    }
    return [];
  });
}

function belowProblem(entry: Entry, file: Entry, owned: readonly OwnedEntry[]): AdmissionProblem {
  const owner = ownerOf(entry, owned);
  const other = ownerOf(file, owned)?.machineConfig ?? '';
  return {
    machineConfig: owner?.machineConfig ?? '',
    field: owner?.field ?? entry.field,
    problem: `${entry.path} cannot be below ${file.path}, which is a ${file.kind} of MachineConfig ${other}`,
    fix: 'choose another path for one of them',
  };
}

/** A finding about the merged config, at the MachineConfig that brings the entry. */
function mergedProblem(
  { path, message }: Finding,
  entries: readonly Entry[],
  owned: readonly OwnedEntry[],
  sources: readonly Source[],
): AdmissionProblem {
  const field = configField(path);
  const entry = entries.find((one) => field === one.field || field.startsWith(`${one.field}.`));
  const owner = entry === undefined ? undefined : ownerOf(entry, owned);
  if (entry === undefined || owner === undefined) {
    const names = namesWithSection(path, sources);
    return {
      machineConfig: names.at(-1) ?? sources.at(-1)?.name ?? '',
      field: configField(path.slice(0, 2)),
      problem: `${message}, once MachineConfigs ${names.join(', ')} are merged`,
      fix: 'correct one of them',
    };
  }
  const others = owned.filter(
    (one) =>
      one.machineConfig !== owner.machineConfig &&
      (one.path === entry.path || (one.kind === 'link' && entry.path.startsWith(`${one.path}/`))),
  );
  const clash = others.map((one) => `${one.path} in MachineConfig ${one.machineConfig}`);
  return {
    machineConfig: owner.machineConfig,
    field: owner.field + field.slice(entry.field.length),
    problem: `${message}: ${entry.path}, merged with ${[...new Set(clash)].join(', ')}`,
    fix: 'keep one of them, or choose another path',
  };
}

function namesWithSection(
  [section = '', list = '']: readonly (string | number)[],
  sources: readonly Source[],
): readonly string[] {
  return sources
    .filter((source) => structOf(source.ignition()?.[section])[list] !== undefined)
    .map(({ name }) => name);
}

/**
 * Contents with the hash of the contents that they replace: Ignition merges the fields of a file
 * one by one.
 */
function inheritedHashes(
  merged: IgnitionObject,
  sources: readonly Source[],
  ports: ContentPorts,
): readonly AdmissionProblem[] {
  return listOf(structOf(merged['storage'])['files']).flatMap((file) => {
    const problem = hashProblem(structOf(file['contents']), ports);
    if (problem === undefined) return [];
    const path = wordOf(file['path']);
    const fillers = sources.flatMap((source) =>
      listOf(structOf(source.ignition()?.['storage'])['files']).flatMap((own, i) =>
        own['path'] === path && structOf(own['contents'])['source'] !== undefined
          ? [{ machineConfig: source.name, field: `spec.config.storage.files[${i}].contents` }]
          : [],
      ),
    );
    const last = fillers.at(-1);
    if (last === undefined) return [];
    const others = fillers.slice(0, -1).map(({ machineConfig }) => machineConfig);
    return [
      {
        machineConfig: last.machineConfig,
        field: `${last.field}.verification.hash`,
        problem: `${path} keeps the hash that MachineConfig ${others.join(', ')} gives it, which is not of these contents`,
        fix: 'give it the hash of its own contents',
      },
    ];
  });
}

const KERNEL_DEVEL = 'kernel-devel';

/** Headers are those of the default kernel. */
function kernelDevelProblems(sources: readonly Source[]): readonly AdmissionProblem[] {
  const special = sources.findLast(({ machineConfig: { spec } }) => isSpecialKernel(spec));
  if (special === undefined) return [];
  const { kernelType } = special.machineConfig.spec;
  return sources.flatMap(({ name, machineConfig: { spec } }) => {
    const at = spec.extensions?.indexOf(KERNEL_DEVEL) ?? -1;
    if (at < 0) return [];
    const whose = special.name === name ? '' : ` of MachineConfig ${special.name}`;
    return [
      {
        machineConfig: name,
        field: `spec.extensions[${at}]`,
        problem: `installing ${KERNEL_DEVEL} extension is not supported with kernelType: ${kernelType}${whose}`,
        fix: 'remove the one or the other',
      },
    ];
  });
}
