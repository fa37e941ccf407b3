import type { ObservedNode, ObservedStatus } from '../../../../tools/observer/observed';

const GROUP = 'machineconfiguration.openshift.io';
let version = 0;

/** A node that serves on `rendered-worker-a`, at rest. */
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
    ...parts,
    annotations: { ...on('rendered-worker-a'), ...parts.annotations },
  };
}

/** What a Node says of its configs. */
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

/** Of a pool whose nodes are all on its config and serve. */
export const POOL_CONDITIONS = {
  Updated: condition('True'),
  Updating: condition('False'),
  NodeDegraded: condition('False'),
  Degraded: condition('False'),
};
