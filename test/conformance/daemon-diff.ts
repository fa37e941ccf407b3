/** Cases of MCO's daemon: diff, disruption actions, drain decision, kernel argument commands. */

import { parse as parseToml } from 'smol-toml';

import {
  decideDrain,
  disruptionActions,
  forcesReboot,
  legacyAction,
  mergeDisruptionPolicies,
  type ContentPorts,
  type NodeDisruptionPolicy,
} from '../../core/disruption';
import { messageOf } from '../../core/errors';
import {
  changedFiles,
  changedUnits,
  diffMachineConfigs,
  type DiffableSpec,
  type MachineConfigDiff,
} from '../../core/machine-config/diff';
import type { IgnitionConfig, MachineConfigSpec } from '../../core/machine-config/types';
import { rpmOstreeKernelArguments } from '../../core/os';
import { EMPTY_IGNITION, parseAndConvert, readRawIgnition } from '../../core/ignition';
import { casesOf, isJsonObject, type ConformanceKind, type JsonObject } from './kind';
import { nodePorts } from './render-ports';

const PORTS: ContentPorts = { parseToml, gunzip: (bytes) => nodePorts.gunzip(bytes) };

export const daemonDiffKind: ConformanceKind = {
  name: 'daemon: diff, actions, drain, kernel arguments',
  matches: (file) => {
    const expected = casesOf(file)?.[0]?.['expected'];
    return isJsonObject(expected) && 'diff' in expected && 'rpmOstreeKargs' in expected;
  },
  cases: (file) =>
    (casesOf(file) ?? []).map((entry) => {
      const input = entry['input'] as CaseInput;
      return {
        name: input.name,
        run: () => ({
          expected: withoutTomlReason(entry['expected']),
          actual: withoutTomlReason(answer(input)),
        }),
      };
    }),
};

interface CaseInput {
  readonly name: string;
  readonly old?: MachineConfigSpec;
  readonly new?: MachineConfigSpec;
  readonly policies?: NodeDisruptionPolicy;
}

/** The diff as in MCO's logs: `{osUpdate:false kargs:true …}`. */
function diffText(diff: MachineConfigDiff): string {
  const flags = Object.entries(diff).map(([flag, differs]) => `${flag}:${String(differs)}`);
  return `{${flags.join(' ')}}`;
}

function answer(input: CaseInput): JsonObject {
  const old = diffable(input.old ?? {});
  const desired = diffable(input.new ?? {});
  const diff = diffMachineConfigs(old, desired);
  const { changed, removed } = changedFiles(old.config, desired.config);
  const files = [...changed, ...removed].sort();
  const unitChanges = changedUnits(old.config, desired.config);
  const units = [...unitChanges.added, ...unitChanges.updated, ...unitChanges.removed];
  const policies = mergeDisruptionPolicies(input.policies);
  const actions = disruptionActions({ diff, files, units }, policies);
  return {
    name: input.name,
    diff: diffText(diff),
    diffFiles: files,
    // Go writes a list without an append as null.
    diffUnits: units.length > 0 ? units : null,
    forcedRebootByDiffFlags: forcesReboot(diff),
    actions,
    ...drainAnswer(() =>
      decideDrain({ actions, old: old.config, desired: desired.config, ports: PORTS }),
    ),
    legacyFirstbootActions: [legacyAction(diff, files)],
    rpmOstreeKargs: rpmOstreeKernelArguments(
      old.kernelArguments ?? [],
      desired.kernelArguments ?? [],
    ),
  };
}

function drainAnswer(decide: () => { readonly drain: boolean }): JsonObject {
  try {
    return { drain: decide().drain };
  } catch (error) {
    return { drain: false, drainError: messageOf(error) };
  }
}

/** Why a text is not TOML says each parser in its own words. */
function withoutTomlReason(said: unknown): unknown {
  if (!isJsonObject(said) || typeof said['drainError'] !== 'string') return said;
  return { ...said, drainError: said['drainError'].replace(/(?<=: toml: ).*/s, '…') };
}

/** A missing config is an empty one here: cases about the other fields leave it out. */
function diffable(spec: MachineConfigSpec): DiffableSpec {
  const raw = readRawIgnition(spec.config, PORTS);
  const config = raw === undefined ? EMPTY_IGNITION : parseAndConvert(raw);
  return { ...spec, config: config as unknown as IgnitionConfig };
}
