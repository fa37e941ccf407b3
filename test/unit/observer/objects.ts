import type { ObservedNode, ObservedRollout, ObservedStatus } from '../../observer/observed';

const GROUP = 'machineconfiguration.openshift.io';
let version = 0;

/** A node in service on `rendered-worker-a`, at rest. */
export function node(name: string, parts: Partial<ObservedNode> = {}): ObservedNode {
  version += 1;
  return {
    name,
    resourceVersion: String(version),
    unschedulable: false,
    cordonAppliedBy: [],
    ready: true,
    bootID: 'boot-1',
    taints: [],
    labels: role('worker'),
    ...parts,
    annotations: { ...on('rendered-worker-a'), ...parts.annotations },
  };
}

/** A node in service as its kubelet registers it, without a config. */
export function joined(name: string, parts: Partial<ObservedNode> = {}): ObservedNode {
  return { ...node(name, parts), annotations: {} };
}

/** Labels of a node, or of a pool's selector. */
export function role(...names: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(names.map((name) => [`node-role.kubernetes.io/${name}`, '']));
}

/** A pool of the nodes that have its role. */
export function poolOf(name: string, parts: Partial<ObservedStatus> = {}): ObservedStatus {
  return status(name, { nodeSelector: { matchLabels: role(name) }, ...parts });
}

/** The config annotations of a Node. */
export function on(current: string, desired = current, state = 'Done') {
  return {
    [`${GROUP}/currentConfig`]: current,
    [`${GROUP}/desiredConfig`]: desired,
    [`${GROUP}/state`]: state,
  };
}

export const byUpdate = (name: string) => ({ 'slipway.dev/cordoned-by': `update-node/${name}` });

export function status(name: string, parts: Partial<ObservedStatus> = {}): ObservedStatus {
  return {
    name,
    target: 'rendered-worker-a',
    current: 'rendered-worker-a',
    paused: false,
    annotations: {},
    counts: {},
    ...parts,
    conditions: parts.conditions ?? { Updated: condition('True') },
  };
}

export function condition(value: string, message = '') {
  return { status: value, reason: '', message };
}

/** Conditions of a pool whose nodes all have its config and are in service. */
export const POOL_CONDITIONS = {
  Updated: condition('True'),
  Updating: condition('False'),
  NodeDegraded: condition('False'),
  Degraded: condition('False'),
};

export function rolloutOf(name: string, parts: Partial<ObservedRollout> = {}): ObservedRollout {
  return { name, waiting: 0, grants: [], ...parts };
}
