/** Nodes as the API server has them, and in a line of the trace. */

import { ANNOTATION, NodeState } from '../../../core/names';
import type { Node } from '../../../core/node/types';
import type { PoolRolloutStatus } from '../../../core/rollout/pool-rollout';
import { labelsFor } from './pools';

/** A Node in service, on its config. */
export function readyNode(name: string, pool: string, config: string, bootID: string): Node {
  return {
    metadata: {
      ...{ name, uid: name, labels: labelsFor(pool), creationTimestamp: '2026-01-01T00:00:00Z' },
      annotations: {
        [ANNOTATION.CURRENT_CONFIG]: config,
        [ANNOTATION.DESIRED_CONFIG]: config,
        [ANNOTATION.STATE]: NodeState.DONE,
      },
    },
    spec: {},
    status: { conditions: [{ type: 'Ready', status: 'True' }], nodeInfo: { bootID } },
  };
}

/** What a person looks at first. */
export function describeNode(node: {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
  readonly spec?: { readonly unschedulable?: boolean };
  readonly status?: { readonly conditions?: readonly { readonly status: string }[] };
}): string {
  const told = node.metadata.annotations ?? {};
  const isReady = node.status?.conditions?.every(({ status }) => status === 'True') === true;
  return [
    node.spec?.unschedulable === true ? 'cordoned' : 'schedulable',
    isReady ? 'Ready' : 'NotReady',
    told[ANNOTATION.STATE] ?? 'no state',
    `${told[ANNOTATION.CURRENT_CONFIG] ?? '-'} > ${told[ANNOTATION.DESIRED_CONFIG] ?? '-'}`,
    told[ANNOTATION.CORDONED_BY] === undefined ? '' : 'ours',
    told[ANNOTATION.HELD_FOR] === undefined ? '' : 'held',
    told[ANNOTATION.RETRY_FOR] === undefined ? '' : 'told to try',
    (told[ANNOTATION.UPDATE_RUN] ?? '').split('/').slice(2).join('/'),
    told[ANNOTATION.REASON] ?? '',
  ]
    .filter((word) => word !== '')
    .join(' ');
}

/** One line of a PoolRollout. */
export function describeRollout({ state, done, blocker, grants }: PoolRolloutStatus): string {
  const given = grants.map(({ node, run, serves }) => `${node}/${run}${serves ? '/serves' : ''}`);
  const list = given.length === 0 ? 'no grants' : given.join(', ');
  return `${state} ${done}, ${list}${blocker === undefined ? '' : `; ${blocker}`}`;
}
