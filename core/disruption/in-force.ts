/** Which disruption policies hold. */

import type { FieldProblem } from '../field-problem';
import { canonicalJson } from '../machine-config/canonical';
import { valueAt } from '../values-at';
import { DEFAULT_DISRUPTION_POLICIES } from './policies';
import { readStoredPolicy } from './stored-policy';
import type { ActionPolicy, MachineConfiguration, NodeDisruptionPolicy } from './types';

/** MCO's name for the one MachineConfiguration of a cluster. */
export const MACHINE_CONFIGURATION = 'cluster';

const IN_SPEC = ['spec', 'nodeDisruptionPolicy'];
export const IN_STATUS = ['status', 'nodeDisruptionPolicyStatus', 'clusterPolicies'];

export interface PolicyInForce {
  /** Without the defaults. */
  readonly policy: NodeDisruptionPolicy;
  /** Of `spec.nodeDisruptionPolicy`; none = `policy` is what it says. */
  readonly problems: readonly FieldProblem[];
}

/**
 * The policies of the spec; if anything is wrong with them, all those that the status has from
 * before. Rollouts, hosts, the status and `slipway plan` read them here.
 */
export function policyInForce(object: MachineConfiguration | undefined): PolicyInForce {
  const stored = readStoredPolicy(valueAt(object, ...IN_SPEC), IN_SPEC);
  if (stored.problems.length === 0) return stored;
  const kept = readStoredPolicy(valueAt(object, ...IN_STATUS), IN_STATUS, 'status');
  return { policy: withoutDefaults(kept.policy), problems: stored.problems };
}

/** A status repeats the defaults. */
function withoutDefaults({
  files = [],
  units = [],
  sshkey,
}: NodeDisruptionPolicy): NodeDisruptionPolicy {
  const defaults = DEFAULT_DISRUPTION_POLICIES;
  return {
    files: files.filter((policy) => !isAmong(policy, defaults.files)),
    units: units.filter((policy) => !isAmong(policy, defaults.units)),
    ...(sshkey === undefined || isAmong(sshkey, [defaults.sshkey]) ? {} : { sshkey }),
  };
}

function isAmong(policy: ActionPolicy, defaults: readonly ActionPolicy[]): boolean {
  const text = canonicalJson(withoutField(policy));
  return defaults.some((one) => canonicalJson(one) === text);
}

export function withoutField<T extends ActionPolicy>(policy: T): Omit<T, 'field'> {
  const bare: T & { field?: unknown } = { ...policy };
  delete bare.field;
  return bare;
}
