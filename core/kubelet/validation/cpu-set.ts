/** Sets of CPUs: "0-3,8". */

import { parseGoInteger } from '../../encoding/go-numbers';

/** No kernel that Kubernetes runs on has more. */
const MOST_CPUS = 8192n;

export type CpuSet =
  { readonly size: number; readonly problem?: undefined } | { readonly problem: string };

/**
 * How many CPUs a text names, or why it names none. The kubelet would also wait for a range that no
 * machine has: it counts to its end.
 *
 * @see k8s.io/utils cpuset, Parse
 */
export function parseCpuSet(text: string): CpuSet {
  const members = new Set<bigint>();
  for (const range of text === '' ? [] : text.split(',')) {
    const parsed = rangeOf(range);
    if (typeof parsed === 'string') return { problem: parsed };
    for (let cpu = parsed.first; cpu <= parsed.last; cpu += 1n) members.add(cpu);
  }
  return { size: members.size };
}

function rangeOf(text: string): { readonly first: bigint; readonly last: bigint } | string {
  const dash = text.indexOf('-');
  const first = parseGoInteger(dash < 0 ? text : text.slice(0, dash));
  const last = parseGoInteger(dash < 0 ? text : text.slice(dash + 1));
  const named = JSON.stringify(text);
  if (first === undefined || last === undefined) return `${named} is no CPU and no range of CPUs`;
  if (first > last) return `the range ${named} ends before it begins`;
  if (last >= MOST_CPUS) return `${named} names a CPU that no machine has`;
  return { first, last };
}
