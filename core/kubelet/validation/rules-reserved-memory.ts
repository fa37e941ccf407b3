/** Memory that is reserved on NUMA nodes. */

import type { FieldProblem } from '../../field-problem';
import { isRecord } from '../../is-record';
import { quantityOf, type Quantity } from '../../encoding/quantity';
import { listAt, textAt } from '../../values-at';
import { type Facts, problemAt, shown } from './problem';
import { reservationsOf, reservedNanos } from './reservations';
import { hardThresholds } from './rules-eviction';

interface Limit {
  readonly path: readonly (string | number)[];
  readonly node: number;
  readonly resource: string;
  readonly text: string;
  readonly quantity: Quantity | undefined;
}

const FIELD = 'reservedMemory';
const HUGE_PAGES = 'hugepages-';
const POLICY = 'memoryManagerPolicy';
const BILLION = 1_000_000_000n;

/**
 * @see kubernetes pkg/kubelet/apis/config/validation/validation_reserved_memory.go (v1.36.3);
 *   pkg/kubelet/cm/memorymanager/memory_manager.go, getSystemReservedMemory
 */
export function reservedMemoryProblems(facts: Facts): readonly FieldProblem[] {
  const limits = limitsOf(facts.config);
  const isStatic = textAt(facts.config, POLICY) === 'Static';
  return [
    ...limits.flatMap((limit, i) => limitProblems(limit, limits.slice(0, i))),
    ...(isStatic ? [...limits.flatMap(staticLimitProblems), ...sumProblems(facts, limits)] : []),
  ];
}

function limitsOf(config: Facts['config']): readonly Limit[] {
  return listAt(config, FIELD).flatMap((entry, i) => {
    if (!isRecord(entry) || !isRecord(entry['limits'])) return [];
    const node = typeof entry['numaNode'] === 'number' ? entry['numaNode'] : 0;
    return Object.entries(entry['limits']).map(([resource, value]) => {
      const text = typeof value === 'number' ? String(value) : value;
      const path = [FIELD, i, 'limits', resource];
      if (typeof text !== 'string') return { path, node, resource, text: '', quantity: undefined };
      return { path, node, resource, text, quantity: quantityOf(text.trim()) };
    });
  });
}

function limitProblems(limit: Limit, before: readonly Limit[]): readonly FieldProblem[] {
  const { path, node, resource, text, quantity } = limit;
  if (resource !== 'memory' && !resource.startsWith(HUGE_PAGES)) {
    const problem = `${shown(resource)} cannot be reserved on a NUMA node`;
    return [problemAt(path, problem, 'use memory, or hugepages with their size (hugepages-1Gi)')];
  }
  if (quantity === undefined || quantity.nanos === 0n) {
    const problem = `is ${shown(text)}, which is ${quantity === undefined ? 'no quantity' : 'zero'}`;
    return [problemAt(path, problem, 'write a quantity such as 1Gi')];
  }
  if (!before.some((other) => other.node === node && other.resource === resource)) return [];
  const problem = `reserves ${resource} on NUMA node ${node} a second time`;
  return [problemAt(path, problem, 'write one entry with the sum')];
}

/** Huge pages cannot be in systemReserved or kubeReserved, with which they would have to agree. */
function staticLimitProblems(limit: Limit): readonly FieldProblem[] {
  const { path, node, resource, text, quantity } = limit;
  if (node < 0) return [problemAt(path, `is on NUMA node ${node}`, 'write a node of 0 or more')];
  if (resource.startsWith(HUGE_PAGES)) {
    const problem = `${shown(resource)} cannot be reserved with ${POLICY} "Static"`;
    return [problemAt(path, problem, 'remove it: systemReserved cannot hold the same amount')];
  }
  if (quantity === undefined || quantity.whole !== undefined) return [];
  const problem = `is ${shown(text)}, which the kubelet cannot read as whole bytes`;
  return [problemAt(path, problem, 'write whole bytes, such as 1Gi or 1073741824')];
}

function sumProblems(facts: Facts, limits: readonly Limit[]): readonly FieldProblem[] {
  const memory = limits.filter(({ resource }) => resource === 'memory');
  const sum = memory.reduce((total, { quantity }) => total + (quantity?.nanos ?? 0n), 0n);
  if (sum <= 0n) {
    const problem = `is "Static", but ${FIELD} has no memory`;
    return [problemAt([POLICY], problem, withMemory(wantedNanos(facts)))];
  }
  const wanted = wantedNanos(facts);
  if (wanted === undefined || wanted === sum) return [];
  const problem =
    `adds up to ${bytes(sum)}, but kubeReserved.memory, systemReserved.memory and ` +
    `evictionHard["memory.available"] to ${bytes(wanted)}`;
  return [problemAt([FIELD], problem, `make both sums equal, for example ${bytes(wanted)} here`)];
}

/** Undefined = only the machine knows. */
function wantedNanos(facts: Facts): bigint | undefined {
  if (facts.beside.sizedByItself === true) return undefined;
  const threshold = hardThresholds(facts.config)['memory.available'] ?? '0%';
  const isIgnored = threshold === '0%' || threshold === '100%';
  if (!isIgnored && threshold.endsWith('%')) return undefined;
  const hard = isIgnored ? 0n : (quantityOf(threshold)?.nanos ?? 0n);
  return reservedNanos(reservationsOf(facts), 'memory') + hard;
}

function withMemory(wanted: bigint | undefined): string {
  if (wanted === undefined) return `set ${FIELD} to what kubeReserved and systemReserved have`;
  if (wanted > 0n) return `set ${FIELD} so that it adds up to ${bytes(wanted)}`;
  return `reserve memory in systemReserved or kubeReserved, and the same sum in ${FIELD}`;
}

/** In the largest unit that leaves a whole number. */
function bytes(nanos: bigint): string {
  if (nanos % BILLION !== 0n) return `${nanos}n`;
  let amount = nanos / BILLION;
  let unit = '';
  for (const next of ['Ki', 'Mi', 'Gi', 'Ti']) {
    if (amount === 0n || amount % 1024n !== 0n) break;
    amount /= 1024n;
    unit = next;
  }
  return `${amount}${unit}`;
}
