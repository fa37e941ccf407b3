/** All rules of a KubeletConfiguration. */

import type { FieldProblem } from '../../field-problem';
import { gateProblems, gatesOf } from './gates';
import type { Facts, ReservationsBeside, Rule } from './problem';
import { durationRanges, durationSyntax } from './rules-durations';
import { enumProblems } from './rules-enums';
import { evictionProblems } from './rules-eviction';
import { logFileProblems, loggingProblems } from './rules-logs';
import { cpuManagerProblems, topologyManagerProblems } from './rules-managers';
import { sysctlProblems, taintProblems } from './rules-names';
import { numberConflicts, numberProblems } from './rules-numbers';
import { pullCredentialProblems } from './rules-pull-credentials';
import { enforcementProblems, reservationProblems } from './rules-reservations';
import { reservedMemoryProblems } from './rules-reserved-memory';
import { addressProblems, tlsProblems } from './rules-serving';
import { shutdownProblems } from './rules-shutdown';
import { userNamespaceProblems } from './rules-user-namespaces';

const RULES: readonly Rule[] = [
  ({ config }) => gateProblems(config),
  durationSyntax,
  numberProblems,
  enumProblems,
  durationRanges,
  numberConflicts,
  shutdownProblems,
  evictionProblems,
  reservationProblems,
  enforcementProblems,
  cpuManagerProblems,
  topologyManagerProblems,
  reservedMemoryProblems,
  taintProblems,
  sysctlProblems,
  tlsProblems,
  addressProblems,
  loggingProblems,
  logFileProblems,
  pullCredentialProblems,
  userNamespaceProblems,
];

/**
 * Values that the kubelet of the version in `KUBELET_VERSION` would refuse, on any machine with
 * Linux and cgroup v2. What only a machine knows counts as right: files, cgroups, how many CPUs and
 * NUMA nodes it has, how much memory.
 *
 * @param effective - the whole KubeletConfiguration that a machine would get, as plain JSON; a field
 *   of a wrong type counts as absent, because types are checked before
 * @param beside - reservations that are not in this file
 * @returns in the order of the rules; several may be at one path
 */
export function kubeletProblems(
  effective: Readonly<Record<string, unknown>>,
  beside: ReservationsBeside = {},
): readonly FieldProblem[] {
  const facts: Facts = { config: effective, isEnabled: gatesOf(effective), beside };
  return RULES.flatMap((rule) => rule(facts));
}
