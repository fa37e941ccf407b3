/** The files of a KubeletConfig for one pool, or every reason against it. */

import { fewSentences } from '../few';
import { fieldProblemText, type FieldProblem } from '../field-problem';
import {
  generatedSpec,
  type Generated,
  type GeneratedFile,
  type Origin,
} from '../generated-configs';
import { isRecord } from '../is-record';
import type { MachineConfigPool } from '../pool/types';
import type { KubeletBase } from './base';
import type { ReadYaml } from './decode';
import { KUBELET_CONF, NODE_SIZING } from './files';
import { featureGateFiles, kubeletConfigFiles } from './machine-config';
import { staticPodPathError } from './static-pod-path';
import { strictKubeletConfigProblems } from './strict';
import { userKubeletConfig, type KubeletConfigSpec, type UserKubeletConfig } from './types';
import { kubeletProblems, type ReservationsBeside } from './validation';
import { userKubeletConfigError } from './validate-user';

/** The pool's own, before the user's settings. */
export interface PoolBase {
  readonly base: KubeletBase;
  /** Text of the file that sizes the reservations of the system; absent = the machines have none. */
  readonly sizing: string | undefined;
  /** Whether the file is of the pool's own MachineConfig, and not of that of worker. */
  readonly isOwn: boolean;
}

/** What is missing or wrong, and what to do. */
export interface NoBase {
  readonly problem: string;
  readonly isOwn: boolean;
}

type Content = Generated & { readonly findings?: readonly FieldProblem[] };

/** Unknown fields have no effect and are no reason; wrong types and forbidden fields are. */
export function judgeUser(
  origin: Origin,
  readYaml: ReadYaml,
): {
  readonly refusal?: string;
  readonly findings: readonly FieldProblem[];
  readonly ignored: readonly FieldProblem[];
} {
  const user = userOf(origin);
  const all = user.text === undefined ? [] : strictKubeletConfigProblems(user.text, readYaml);
  const findings = all.filter(({ isIgnored }) => !isIgnored);
  const ignored = all.filter(({ isIgnored }) => isIgnored);
  if (findings.length > 0) return { refusal: textOf(findings), findings, ignored };
  const refusal = userKubeletConfigError(user, readYaml);
  return { findings, ignored, ...(refusal === undefined ? {} : { refusal }) };
}

export function contentFor(
  origin: Origin,
  { metadata, spec }: MachineConfigPool,
  { base, sizing }: PoolBase,
  readYaml: ReadYaml,
): Content {
  const user = userOf(origin);
  const { name } = metadata;
  const staticPods = staticPodPathError(user, { name, nodeSelector: spec.nodeSelector }, readYaml);
  if (staticPods !== undefined) return { problem: staticPods };
  const made = kubeletConfigFiles(base, user, readYaml);
  if ('error' in made) return { problem: `pool ${name}: ${made.error}` };
  const findings = refusedValues({ base, sizing }, made.files, { user, readYaml });
  if (findings.length > 0) return { problem: textOf(findings), findings };
  return { spec: generatedSpec(made) };
}

function userOf({ spec }: Origin): UserKubeletConfig {
  return userKubeletConfig((spec ?? {}) as KubeletConfigSpec);
}

function textOf(findings: readonly FieldProblem[]): string {
  return fewSentences(findings.map(fieldProblemText));
}

/** What is wrong with the file that the machines come with is not the user's: they run with it. */
function refusedValues(
  { base, sizing }: Pick<PoolBase, 'base' | 'sizing'>,
  files: readonly GeneratedFile[],
  { user, readYaml }: { readonly user: UserKubeletConfig; readonly readYaml: ReadYaml },
): readonly FieldProblem[] {
  const before = featureGateFiles(base, readYaml);
  const known = 'error' in before ? [] : problemsIn(before.files, { readYaml, sizing });
  const isSized = user.autoSizingReserved === true;
  const problems = problemsIn(files, {
    readYaml,
    sizing: textIn(files, NODE_SIZING) ?? sizing,
    isSized,
  });
  return problems
    .filter((problem) => !known.some((other) => isEqual(problem, other)))
    .map(({ path, problem, fix }) => ({ path: ['spec', 'kubeletConfig', ...path], problem, fix }));
}

function problemsIn(
  files: readonly GeneratedFile[],
  how: {
    readonly readYaml: ReadYaml;
    readonly sizing: string | undefined;
    readonly isSized?: boolean;
  },
): readonly FieldProblem[] {
  const read = how.readYaml(textIn(files, KUBELET_CONF) ?? '');
  const effective = 'value' in read && isRecord(read.value) ? read.value : {};
  return kubeletProblems(effective, besideIn(how.sizing, how.isSized ?? false));
}

function besideIn(sizing: string | undefined, sizedByItself: boolean): ReservationsBeside {
  if (sizing === undefined) return { sizedByItself };
  const value = (name: string): string => new RegExp(`^${name}=(.*)$`, 'm').exec(sizing)?.[1] ?? '';
  const reserved = {
    cpu: value('SYSTEM_RESERVED_CPU'),
    memory: value('SYSTEM_RESERVED_MEMORY'),
    'ephemeral-storage': value('SYSTEM_RESERVED_ES'),
  };
  const systemReserved = Object.fromEntries(
    Object.entries(reserved).filter(([, amount]) => amount !== ''),
  );
  return { systemReserved, sizedByItself };
}

function textIn(files: readonly GeneratedFile[], path: string): string | undefined {
  return files.find((file) => file.path === path)?.contents;
}

function isEqual(a: FieldProblem, b: FieldProblem): boolean {
  return a.problem === b.problem && a.path.join('\n') === b.path.join('\n');
}
