/** What a kubelet reserves for itself and the system. */

import { quantityOf } from '../../encoding/quantity';
import { textAt, textEntriesAt } from '../../values-at';
import { parseCpuSet } from './cpu-set';
import type { Facts } from './problem';

export type Amounts = Readonly<Record<string, string>>;

export interface Reservations {
  readonly system: Amounts;
  readonly kube: Amounts;
}

/**
 * As the kubelet sees them when it reads the amounts: the flag instead of the file, and
 * `reservedSystemCPUs` instead of both amounts of cpu.
 *
 * @see kubernetes cmd/kubelet/app/server.go (v1.36.3), run
 */
export function reservationsOf({ config, beside }: Facts): Reservations {
  const written: Amounts = Object.fromEntries(textEntriesAt(config, 'systemReserved'));
  const replaced = beside.sizedByItself === true ? (beside.systemReserved ?? {}) : undefined;
  const system = replaced ?? beside.systemReserved ?? written;
  const kube: Amounts = Object.fromEntries(textEntriesAt(config, 'kubeReserved'));
  const cpus = reservedCpus(config);
  if (cpus === 0) return { system, kube };
  const { cpu, ...otherKube } = kube;
  return { system: { ...system, cpu: String(cpus) }, kube: cpu === undefined ? kube : otherKube };
}

/** How many CPUs `reservedSystemCPUs` names; 0 also where it is invalid. */
export function reservedCpus(config: Facts['config']): number {
  const set = parseCpuSet(textAt(config, 'reservedSystemCPUs') ?? '');
  return set.problem === undefined ? set.size : 0;
}

/** In billionths, of kubeReserved and systemReserved; invalid amounts count as nothing. */
export function reservedNanos({ system, kube }: Reservations, resource: string): bigint {
  const amounts = [system[resource], kube[resource]];
  return amounts.reduce((sum, text) => sum + (quantityOf(text ?? '0')?.nanos ?? 0n), 0n);
}
