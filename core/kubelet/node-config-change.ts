/** What a change of the Node `cluster` of config.openshift.io leads to. */

import { canonicalJson } from '../machine-config/canonical';
import type { NodeConfigSpec } from './types';

interface NodeConfig {
  readonly name: string;
  readonly spec: NodeConfigSpec;
}

interface NodeConfigChange {
  /** Whether the MachineConfigs have to be made again. */
  readonly syncs: boolean;
  /** Message of an event of type Normal with the reason ActionProhibited. */
  readonly prohibited?: string;
}

const SLOW = 'LowUpdateSlowReaction';

/**
 * Decides about a change. From the default to the slowest latency profile and back leads only the way
 * over the one between them.
 *
 * @see MCO pkg/controller/kubelet-config/kubelet_config_nodes.go (7ff337a4), updateNodeConfig
 */
export function nodeConfigChange(old: NodeConfig, now: NodeConfig): NodeConfigChange {
  const { name } = now;
  if (name !== 'cluster') {
    return {
      syncs: false,
      prohibited: `The node.config.openshift.io "${name}" is invalid: metadata.name Invalid value: "${name}" : must be "cluster"`,
    };
  }
  if (canonicalSpec(old.spec) === canonicalSpec(now.spec)) return { syncs: false };
  const from = old.spec.workerLatencyProfile ?? '';
  const to = now.spec.workerLatencyProfile ?? '';
  if (!(from === SLOW && isDefault(to)) && !(to === SLOW && isDefault(from))) {
    return { syncs: true };
  }
  const transition = `from old WorkerLatencyProfile: "${from}" to new WorkerLatencyProfile: "${to}"`;
  return {
    syncs: false,
    prohibited: `Skipping the Update Node event, name: ${name}, transition not allowed ${transition}`,
  };
}

function isDefault(profile: string): boolean {
  return profile === '' || profile === 'Default';
}

/** Absent and empty are the same. */
function canonicalSpec(spec: NodeConfigSpec): string {
  const filled = Object.entries(spec).filter(([, value]) => value !== '' && value !== null);
  return canonicalJson(Object.fromEntries(filled));
}
