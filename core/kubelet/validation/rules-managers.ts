/** CPU, memory and topology managers. */

import { parseGoBoolean, parseGoInteger } from '../../encoding/go-numbers';
import type { FieldProblem } from '../../field-problem';
import { textAt, textEntriesAt } from '../../values-at';
import { anyOf, type Facts, problemAt, shown } from './problem';
import { reservationsOf, reservedNanos } from './reservations';
import { needsGate } from './rules-durations';

type Entry = readonly [name: string, value: string];

/** With the feature gate that each needs. */
const CPU_OPTIONS: Readonly<Record<string, string | undefined>> = {
  'full-pcpus-only': undefined,
  'strict-cpu-reservation': undefined,
  'prefer-align-cpus-by-uncorecache': undefined,
  'distribute-cpus-across-numa': 'CPUManagerPolicyBetaOptions',
  'align-by-socket': 'CPUManagerPolicyAlphaOptions',
  'distribute-cpus-across-cores': 'CPUManagerPolicyAlphaOptions',
};

const EXCLUSIVE: readonly (readonly [string, string])[] = [
  ['full-pcpus-only', 'distribute-cpus-across-cores'],
  ['distribute-cpus-across-numa', 'distribute-cpus-across-cores'],
  ['prefer-align-cpus-by-uncorecache', 'distribute-cpus-across-cores'],
  ['prefer-align-cpus-by-uncorecache', 'distribute-cpus-across-numa'],
];

const POLICY = 'cpuManagerPolicy';
const OPTIONS = 'cpuManagerPolicyOptions';

/**
 * @see kubernetes pkg/kubelet/cm/cpumanager/cpu_manager.go (v1.36.3), NewManager;
 *   pkg/kubelet/cm/cpumanager/policy_options.go
 */
export function cpuManagerProblems(facts: Facts): readonly FieldProblem[] {
  const { config } = facts;
  const options = textEntriesAt(config, OPTIONS);
  if (textAt(config, POLICY) !== 'static') return withoutPolicy(facts, options);
  return [
    ...withoutReservation(facts),
    ...options.flatMap((option) => cpuOptionProblems(facts, option)),
    ...exclusiveOptions(facts, options),
  ];
}

function withoutPolicy({ config }: Facts, options: readonly Entry[]): readonly FieldProblem[] {
  const policy = textAt(config, POLICY) ?? '';
  if (policy !== 'none' && policy !== '') return [];
  return options.map(([name]) =>
    problemAt([OPTIONS, name], `needs ${POLICY} "static"`, `remove it, or set ${POLICY} to static`),
  );
}

function withoutReservation(facts: Facts): readonly FieldProblem[] {
  if (facts.beside.sizedByItself === true) return [];
  if (reservedNanos(reservationsOf(facts), 'cpu') > 0n) return [];
  const problem = 'is "static", but no CPU is reserved for the system';
  const fix = 'reserve some: systemReserved.cpu, kubeReserved.cpu or reservedSystemCPUs';
  return [problemAt([POLICY], problem, fix)];
}

function cpuOptionProblems(facts: Facts, [name, value]: Entry): readonly FieldProblem[] {
  const path = [OPTIONS, name];
  const known = Object.keys(CPU_OPTIONS);
  if (!known.includes(name)) {
    return [problemAt(path, `${shown(name)} is no option of ${POLICY}`, `use ${anyOf(known)}`)];
  }
  const gate = CPU_OPTIONS[name];
  if (gate !== undefined && !facts.isEnabled(gate)) return [needsGate(path, gate)];
  const found = booleanProblem(path, value);
  if (found.length > 0 || name !== 'align-by-socket' || parseGoBoolean(value) !== true)
    return found;
  if (textAt(facts.config, 'topologyManagerPolicy') !== 'single-numa-node') return [];
  const problem = 'is true, which excludes topologyManagerPolicy "single-numa-node"';
  return [problemAt(path, problem, 'write "false", or another topologyManagerPolicy')];
}

function exclusiveOptions(facts: Facts, options: readonly Entry[]): readonly FieldProblem[] {
  const on = options.filter(([, value]) => parseGoBoolean(value) === true).map(([name]) => name);
  return EXCLUSIVE.filter(([one, other]) => on.includes(one) && on.includes(other)).map(
    ([one, other]) =>
      problemAt([OPTIONS, one], `is true, which excludes ${shown(other)}`, 'remove one of both'),
  );
}

function booleanProblem(path: readonly string[], value: string): readonly FieldProblem[] {
  if (parseGoBoolean(value) !== undefined) return [];
  const problem = `is ${shown(value)}, which is neither "true" nor "false"`;
  return [problemAt(path, problem, 'write "true" or "false"')];
}

const TOPOLOGY_OPTIONS = 'topologyManagerPolicyOptions';
const CLOSEST = 'prefer-closest-numa-nodes';
const MOST_NODES = 'max-allowable-numa-nodes';
const LEAST_NUMA_NODES = 8n;

/**
 * A policy of none reads no options.
 *
 * @see kubernetes pkg/kubelet/cm/topologymanager/policy_options.go (v1.36.3), NewPolicyOptions
 */
export function topologyManagerProblems({ config }: Facts): readonly FieldProblem[] {
  const policy = textAt(config, 'topologyManagerPolicy') ?? '';
  if (policy === '' || policy === 'none') return [];
  return textEntriesAt(config, TOPOLOGY_OPTIONS).flatMap(([name, value]) => {
    const path = [TOPOLOGY_OPTIONS, name];
    if (name === CLOSEST) return booleanProblem(path, value);
    if (name === MOST_NODES) return numaNodesProblem(path, value);
    const problem = `${shown(name)} is no option of topologyManagerPolicy`;
    return [problemAt(path, problem, `use ${anyOf([CLOSEST, MOST_NODES])}`)];
  });
}

function numaNodesProblem(path: readonly string[], value: string): readonly FieldProblem[] {
  const nodes = parseGoInteger(value);
  if (nodes !== undefined && nodes >= LEAST_NUMA_NODES) return [];
  const problem = `is ${shown(value)}, which is no whole number of ${LEAST_NUMA_NODES} or more`;
  return [problemAt(path, problem, `write "${LEAST_NUMA_NODES}" or more`)];
}
