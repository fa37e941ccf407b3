/** Reserved resources, and the cgroups that enforce them. */

import { quantityOf } from '../../encoding/quantity';
import { parseGoInteger } from '../../encoding/go-numbers';
import type { FieldProblem } from '../../field-problem';
import { flagAt, textAt, textEntriesAt, textsAt } from '../../values-at';
import { parseCpuSet } from './cpu-set';
import { anyOf, type Facts, problemAt, shown } from './problem';
import { type Amounts, type Reservations, reservationsOf } from './reservations';

type Config = Facts['config'];

const RESOURCES = ['cpu', 'memory', 'ephemeral-storage', 'pid'];

/** @see kubernetes cmd/kubelet/app/server.go (v1.36.3), parseResourceList */
export function reservationProblems(facts: Facts): readonly FieldProblem[] {
  const { system, kube } = reservationsOf(facts);
  return [
    ...amountProblems('systemReserved', system),
    ...amountProblems('kubeReserved', kube),
    ...cpuSetProblems(facts.config),
    ...qosProblems(facts.config),
  ];
}

function amountProblems(field: string, amounts: Amounts): readonly FieldProblem[] {
  return Object.entries(amounts).flatMap(([resource, amount]) => {
    const path = [field, resource];
    if (!RESOURCES.includes(resource)) {
      const problem = `${shown(resource)} cannot be reserved`;
      return [problemAt(path, problem, `use ${anyOf(RESOURCES)}`)];
    }
    const fix = `write a quantity such as ${resource === 'cpu' ? '500m' : '1Gi'}`;
    const quantity = quantityOf(amount);
    if (quantity === undefined) {
      return [problemAt(path, `is ${shown(amount)}, which is no quantity`, fix)];
    }
    if (quantity.nanos >= 0n) return [];
    return [problemAt(path, `is ${shown(amount)}, which is negative`, fix)];
  });
}

/** @see kubernetes pkg/kubelet/apis/config/validation (v1.36.3), ValidateKubeletConfiguration */
function cpuSetProblems(config: Config): readonly FieldProblem[] {
  const path = ['reservedSystemCPUs'];
  const text = textAt(config, ...path) ?? '';
  if (text === '') return [];
  const { problem } = parseCpuSet(text);
  const invalid =
    problem === undefined ? [] : [problemAt(path, problem, 'write a list such as 0-3,8')];
  const cgroups = ['systemReservedCgroup', 'kubeReservedCgroup'].filter(
    (name) => (textAt(config, name) ?? '') !== '',
  );
  return [
    ...invalid,
    ...cgroups.map((name) =>
      problemAt([...path], `cannot be combined with ${name}`, `remove one of both`),
    ),
  ];
}

/** @see kubernetes pkg/kubelet/cm/container_manager.go (v1.36.3), ParseQOSReserved */
function qosProblems(config: Config): readonly FieldProblem[] {
  return textEntriesAt(config, 'qosReserved').flatMap(([resource, share]) => {
    const path = ['qosReserved', resource];
    if (resource !== 'memory') {
      return [problemAt(path, `${shown(resource)} cannot be reserved`, 'use memory only')];
    }
    const percent = share.endsWith('%') ? parseGoInteger(share.replace(/%+$/, '')) : undefined;
    if (percent !== undefined && percent >= 0n && percent <= 100n) return [];
    const problem = `is ${shown(share)}, which is no whole percentage from 0% to 100%`;
    return [problemAt(path, problem, 'write a percentage such as 50%')];
  });
}

const COMPRESSIBLE = '-compressible';
const SYSTEM = 'system-reserved';
const KUBE = 'kube-reserved';
const LEVELS = ['pods', SYSTEM, `${SYSTEM}${COMPRESSIBLE}`, KUBE, `${KUBE}${COMPRESSIBLE}`, 'none'];

/**
 * @see kubernetes pkg/kubelet/apis/config/validation (v1.36.3), ValidateKubeletConfiguration;
 *   pkg/kubelet/cm/node_container_manager_linux.go, enforceExistingCgroup
 */
export function enforcementProblems(facts: Facts): readonly FieldProblem[] {
  const { config } = facts;
  const entries = textsAt(config, 'enforceNodeAllocatable');
  const levels = entries.map(([level]) => level);
  const reservations = reservationsOf(facts);
  return [
    ...entries.flatMap(([level, i]) => {
      const path = ['enforceNodeAllocatable', i];
      const found = levelProblem(level, i, levels) ?? needs(level, facts, reservations);
      return found === undefined ? [] : [problemAt(path, ...found)];
    }),
    ...withoutCgroups(config, levels),
    ...systemCgroups(config),
  ];
}

type Found = readonly [problem: string, fix: string];

function levelProblem(level: string, index: number, levels: readonly string[]): Found | undefined {
  const named = shown(level);
  if (!LEVELS.includes(level)) return [`is ${named}, which is unknown`, `write ${anyOf(LEVELS)}`];
  if (levels.indexOf(level) !== index) return [`is ${named} a second time`, 'remove it'];
  if (level === 'none' && levels.length > 1) {
    return ['is "none", which excludes every other entry', 'remove it, or all others'];
  }
  const other = level.endsWith(COMPRESSIBLE) ? level.slice(0, -COMPRESSIBLE.length) : undefined;
  if (other === undefined || !levels.includes(other)) return undefined;
  return [`is ${named}, which excludes ${shown(other)}`, 'remove one of both'];
}

function needs(level: string, facts: Facts, reservations: Reservations): Found | undefined {
  const isSystem = level.startsWith(SYSTEM);
  if (!isSystem && !level.startsWith(KUBE)) return undefined;
  const cgroup = isSystem ? 'systemReservedCgroup' : 'kubeReservedCgroup';
  if ((textAt(facts.config, cgroup) ?? '') === '') {
    return [`is ${shown(level)}, but ${cgroup} is not set`, `set ${cgroup}, or remove the entry`];
  }
  const field = isSystem ? 'systemReserved' : 'kubeReserved';
  const amounts = isSystem ? reservations.system : reservations.kube;
  if (Object.keys(amounts).length > 0) return undefined;
  if (isSystem && facts.beside.sizedByItself === true) return undefined;
  return [`is ${shown(level)}, but ${field} is empty`, `set ${field}, or remove the entry`];
}

function withoutCgroups(config: Config, levels: readonly string[]): readonly FieldProblem[] {
  if (flagAt(config, 'cgroupsPerQOS') !== false) return [];
  // The default enforces pods.
  const isDefault = !Array.isArray(config['enforceNodeAllocatable']);
  const enforced = isDefault ? ['pods'] : levels.filter((level) => level !== 'none');
  if (enforced.length === 0) return [];
  const problem = `is false, but enforceNodeAllocatable has ${anyOf(enforced)}`;
  return [
    problemAt(['cgroupsPerQOS'], problem, 'write true, or set enforceNodeAllocatable to ["none"]'),
  ];
}

function systemCgroups(config: Config): readonly FieldProblem[] {
  const system = textAt(config, 'systemCgroups') ?? '';
  if (system === '' || (textAt(config, 'cgroupRoot') ?? '') !== '') return [];
  const problem = `is ${shown(system)}, but cgroupRoot is not set`;
  return [problemAt(['systemCgroups'], problem, 'set cgroupRoot, such as to /')];
}
