/** The status of the MachineConfiguration: the policies in force, and what is wrong with its spec. */

import { fewSentences } from '../few';
import { fieldProblemText, type FieldProblem } from '../field-problem';
import { isRecord } from '../is-record';
import { canonicalJson } from '../machine-config/canonical';
import type { Condition } from '../object-meta';
import { setCondition, type ConditionValue } from '../pool/conditions';
import { listAt, valueAt } from '../values-at';
import { OVERRIDES_PROBLEM } from './admission';
import { IN_STATUS, MACHINE_CONFIGURATION, policyInForce, withoutField } from './in-force';
import { mergeDisruptionPolicies } from './policies';
import type { DisruptionPolicies, MachineConfiguration } from './types';

/** Slipway's: True = the spec is wrong; the message has field, problem and fix. */
export const POLICY_CONDITION = 'NodeDisruptionPolicyDegraded';

/** What Slipway writes of the status. */
export interface PolicyStatus {
  readonly observedGeneration?: number;
  readonly nodeDisruptionPolicyStatus: { readonly clusterPolicies: DisruptionPolicies };
  readonly conditions: readonly Condition[];
}

/**
 * The policies in force, with the defaults. MCO has no condition for them.
 *
 * @param now - RFC 3339
 * @see MCO pkg/operator/sync.go, syncMachineConfiguration (7ff337a4)
 */
export function policyStatus(object: MachineConfiguration, now: string): PolicyStatus {
  const { policy, problems } = policyInForce(object);
  const { files, units, sshkey } = mergeDisruptionPolicies(policy);
  const clusterPolicies = {
    files: files.map(withoutField),
    units: units.map(withoutField),
    sshkey: withoutField(sshkey),
  };
  const { generation } = object.metadata;
  return {
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    nodeDisruptionPolicyStatus: { clusterPolicies },
    conditions: setCondition(ownCondition(object), conditionOf(object, problems), now),
  };
}

function conditionOf(
  object: MachineConfiguration,
  problems: readonly FieldProblem[],
): ConditionValue<typeof POLICY_CONDITION> {
  const overrides = listAt(object, ...OVERRIDES_PROBLEM.path);
  const all = overrides.length > 0 ? [OVERRIDES_PROBLEM, ...problems] : problems;
  const type = POLICY_CONDITION;
  if (all.length === 0) return { type, status: 'False', reason: 'AsExpected' };
  const kept = problems.length > 0 ? `; ${KEPT}` : '';
  return {
    ...{ type, status: 'True', reason: 'InvalidPolicy' },
    message: `${policyProblemsText(all)}${kept}`,
  };
}

const KEPT = 'until then the last valid policies are in force, which its status shows';

/** `MachineConfiguration cluster: spec.….files[0].path: path must be absolute; begin it with /` */
export function policyProblemsText(problems: readonly FieldProblem[]): string {
  return `MachineConfiguration ${MACHINE_CONFIGURATION}: ${fewSentences(problems.map(fieldProblemText))}`;
}

/** Whether the object has another status; the order of its lists does not matter. */
export function policyStatusDiffers(object: MachineConfiguration, wanted: PolicyStatus): boolean {
  const { observedGeneration, nodeDisruptionPolicyStatus, conditions } = wanted;
  const stored = [
    valueAt(object, 'status', 'observedGeneration'),
    inOrder(valueAt(object, ...IN_STATUS)),
    ownCondition(object),
  ];
  const status = [
    observedGeneration,
    inOrder(nodeDisruptionPolicyStatus.clusterPolicies),
    conditions,
  ];
  return canonicalJson(stored) !== canonicalJson(status);
}

/** An API server merges lists by their keys, and may keep the order that it had. */
function inOrder(policies: unknown): unknown {
  if (!isRecord(policies)) return policies;
  return { ...policies, files: sorted(policies['files']), units: sorted(policies['units']) };
}

function sorted(list: unknown): unknown {
  return Array.isArray(list) ? list.map(canonicalJson).sort() : list;
}

/** At most one. */
function ownCondition(object: MachineConfiguration): readonly Condition[] {
  const conditions = listAt(object, 'status', 'conditions');
  return conditions.filter(isCondition).filter(({ type }) => type === POLICY_CONDITION);
}

function isCondition(value: unknown): value is Condition {
  if (!isRecord(value)) return false;
  const { type, status, reason, message } = value;
  return [type, status, reason, message].every((one) => typeof one === 'string');
}
