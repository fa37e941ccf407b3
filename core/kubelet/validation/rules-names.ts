/** Taints and sysctls: texts with a syntax of their own. */

import type { FieldProblem } from '../../field-problem';
import { isRecord } from '../../is-record';
import { listAt, textsAt } from '../../values-at';
import { anyOf, type Facts, problemAt, shown } from './problem';

const NAME = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;
const LABEL_LENGTH = 63;
const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const NAME_LENGTH = 253;
const EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

/**
 * @see kubernetes pkg/util/taints/taints.go (v1.36.3), CheckTaintValidation;
 *   pkg/kubelet/apis/config/validation, ValidateKubeletConfiguration
 */
export function taintProblems({ config }: Facts): readonly FieldProblem[] {
  return listAt(config, 'registerWithTaints').flatMap((taint, i) => {
    const path = ['registerWithTaints', i];
    const { key, value, effect, timeAdded } = isRecord(taint) ? taint : {};
    return [
      ...(isQualifiedName(textOf(key)) ? [] : [keyProblem([...path, 'key'], textOf(key))]),
      ...(isLabelValue(textOf(value)) ? [] : [valueProblem([...path, 'value'], textOf(value))]),
      ...effectProblems([...path, 'effect'], textOf(effect)),
      ...timeProblems([...path, 'timeAdded'], timeAdded),
    ];
  });
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** @see k8s.io/apimachinery pkg/api/validate/content (v0.36.3), IsQualifiedName */
function isQualifiedName(text: string): boolean {
  const slash = text.indexOf('/');
  const name = text.slice(slash + 1);
  if (name.length > LABEL_LENGTH || !NAME.test(name)) return false;
  const prefix = text.slice(0, Math.max(0, slash));
  return slash < 0 || (prefix.length <= NAME_LENGTH && SUBDOMAIN.test(prefix));
}

function isLabelValue(text: string): boolean {
  return text === '' || (text.length <= LABEL_LENGTH && NAME.test(text));
}

function keyProblem(path: readonly (string | number)[], key: string): FieldProblem {
  const problem = `is ${shown(key)}, which is no key of a taint`;
  const fix = `write at most ${LABEL_LENGTH} letters, digits, "-", "_" or ".", perhaps after a domain and "/"`;
  return problemAt(path, problem, fix);
}

function valueProblem(path: readonly (string | number)[], value: string): FieldProblem {
  const problem = `is ${shown(value)}, which is no value of a taint`;
  return problemAt(path, problem, `write at most ${LABEL_LENGTH} letters, digits, "-", "_" or "."`);
}

function effectProblems(
  path: readonly (string | number)[],
  effect: string,
): readonly FieldProblem[] {
  if (effect === '' || EFFECTS.includes(effect)) return [];
  return [problemAt(path, `is ${shown(effect)}, which is unknown`, `write ${anyOf(EFFECTS)}`)];
}

function timeProblems(path: readonly (string | number)[], time: unknown): readonly FieldProblem[] {
  if (time === undefined || time === null) return [];
  return [problemAt(path, `is ${shown(time)}; only the API server sets it`, 'remove it')];
}

const PATTERN = /^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*([a-z0-9][-_a-z0-9]*)?[a-z0-9*]$/;

/** Sysctls of the kernel that belong to a pod alone; those that begin with PREFIXES do, too. */
const NAMESPACED: readonly string[] = [
  ...['kernel.sem', 'kernel.shm', 'kernel.shmall', 'kernel.shmmax', 'kernel.shmmni'],
  ...['kernel.shm_rmid_forced', 'kernel.msg', 'kernel.msgmax', 'kernel.msgmnb', 'kernel.msgmni'],
];
const PREFIXES = ['net.', 'fs.mqueue.'];

/**
 * @see kubernetes pkg/kubelet/sysctl/allowlist.go (v1.36.3), NewAllowlist;
 *   k8s.io/component-helpers node/util/sysctl/namespace.go (v0.36.3), GetNamespace
 */
export function sysctlProblems({ config }: Facts): readonly FieldProblem[] {
  return textsAt(config, 'allowedUnsafeSysctls').flatMap(([sysctl, i]) => {
    const path = ['allowedUnsafeSysctls', i];
    if (sysctl.length > NAME_LENGTH || !PATTERN.test(sysctl)) {
      const problem = `is ${shown(sysctl)}, which is no sysctl and no pattern of sysctls`;
      return [problemAt(path, problem, 'write a name such as net.core.somaxconn, or kernel.msg*')];
    }
    if (isNamespaced(sysctl)) return [];
    const problem = `is ${shown(sysctl)}, which would change the whole machine, not one pod`;
    const fix = 'allow sysctls of net.*, fs.mqueue.*, kernel.sem, kernel.shm* or kernel.msg*';
    return [problemAt(path, problem, fix)];
  });
}

function isNamespaced(sysctl: string): boolean {
  const star = sysctl.indexOf('*');
  const dotted = withDots(sysctl);
  const name = star < 0 ? dotted : dotted.slice(0, star);
  return NAMESPACED.includes(name) || PREFIXES.some((prefix) => name.startsWith(prefix));
}

/** Where the first separator is a slash, slashes separate and points belong to names. */
function withDots(sysctl: string): string {
  if (/[./]/.exec(sysctl)?.[0] !== '/') return sysctl;
  return sysctl.replace(/[./]/g, (character) => (character === '/' ? '.' : '/'));
}
