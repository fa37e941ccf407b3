/** The Node `cluster` of config.openshift.io: cgroup mode and latency of workers. */

import { goDurationOf, MINUTE, SECOND } from '../encoding/go-duration';
import type { GoFields } from './schema-types';
import type { NodeConfigSpec } from './types';

/** How often the kubelet reports its status, in nanoseconds. */
const FREQUENCY: ReadonlyMap<string, bigint> = new Map([
  ['Default', 10n * SECOND],
  ['MediumUpdateAverageReaction', 20n * SECOND],
  ['LowUpdateSlowReaction', MINUTE],
]);

/**
 * The configuration with the frequency of the latency profile.
 *
 * @see MCO pkg/controller/kubelet-config/helpers.go (7ff337a4), updateOriginalKubeConfigwithNodeConfig
 */
export function withLatencyProfile(
  configuration: GoFields,
  { workerLatencyProfile: profile = '' }: NodeConfigSpec,
): { readonly configuration: GoFields } | { readonly error: string } {
  if (profile === '') return { configuration };
  const frequency = FREQUENCY.get(profile);
  if (frequency !== undefined) {
    return { configuration: { ...configuration, nodeStatusUpdateFrequency: frequency } };
  }
  return {
    error: `unknown worker latency profile type found ${profile}, failed to update the original kubelet configuration`,
  };
}

/** The latency profile whose kubelets report so often, a duration of Go; undefined = none. */
export function profileOfFrequency(frequency: string): string | undefined {
  const found = goDurationOf(frequency);
  return [...FREQUENCY].find(([, each]) => each === found)?.[0];
}

const CGROUP_V1 = [
  'systemd.unified_cgroup_hierarchy=0',
  'systemd.legacy_systemd_cgroup_controller=1',
];
const CGROUP_V2 = ['systemd.unified_cgroup_hierarchy=1', 'cgroup_no_v1="all"'];

/**
 * The kernel arguments of a MachineConfig with those of the cgroup mode, which is always v2.
 *
 * @param existing - those that the MachineConfig has
 * @see MCO pkg/controller/kubelet-config/helpers.go (7ff337a4), updateMachineConfigwithCgroup
 */
export function cgroupArguments(
  { cgroupMode: mode = '' }: NodeConfigSpec,
  existing: readonly string[] = [],
): { readonly kernelArguments: readonly string[] } | { readonly error: string } {
  if (mode !== '' && mode !== 'v2') {
    return {
      error: `unknown cgroup mode found ${mode}, failed to update the machine config resource`,
    };
  }
  const kept = existing.filter((argument) => !CGROUP_V1.includes(argument));
  return { kernelArguments: [...kept, ...CGROUP_V2.filter((each) => !kept.includes(each))] };
}
