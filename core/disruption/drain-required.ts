import type { IgnitionConfig } from '../machine-config/types';
import { hasAction } from './actions';
import { judgeRegistriesChange, type ContentPorts } from './registries-conf';
import type { DisruptionAction } from './types';

/** `reason` completes "drain because". */
export type DrainDecision =
  { readonly drain: false } | { readonly drain: true; readonly reason: string };

/**
 * A drain is required by a reboot, by a policy, or by a change of `registries.conf` that is not
 * harmless.
 *
 * @throws `InvalidMachineConfig` when `registries.conf` decides and is not TOML
 * @see MCO pkg/daemon/drain.go, isDrainRequiredForNodeDisruptionActions (7ff337a4)
 */
export function decideDrain(input: {
  readonly actions: readonly DisruptionAction[];
  readonly old: IgnitionConfig;
  readonly desired: IgnitionConfig;
  readonly ports: ContentPorts;
}): DrainDecision {
  if (hasAction(input.actions, 'Reboot')) return { drain: true, reason: 'the node reboots' };
  if (hasAction(input.actions, 'Drain')) return { drain: true, reason: 'a policy asks for it' };
  if (!hasAction(input.actions, 'Special')) return { drain: false };
  const verdict = judgeRegistriesChange(input.old, input.desired, input.ports);
  return verdict.harmless ? { drain: false } : { drain: true, reason: verdict.reason };
}
