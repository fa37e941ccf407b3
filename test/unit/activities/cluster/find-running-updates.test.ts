import { createFindRunningUpdates } from '../../../../activities/cluster/find-running-updates';
import { ANNOTATION, NodeState } from '../../../../core/names';
import type { Node } from '../../../../core/node/types';
import { pictureOf } from './picture-of';

function aNode(name: string, config: string): Node {
  return {
    metadata: {
      name,
      labels: { pool: 'shop' },
      annotations: {
        [ANNOTATION.CURRENT_CONFIG]: config,
        [ANNOTATION.DESIRED_CONFIG]: config,
        [ANNOTATION.STATE]: NodeState.DONE,
      },
    },
    spec: {},
    status: { conditions: [{ type: 'Ready', status: 'True' }] },
  };
}

/** Temporal with these open updates; visibility shows only a part of them. */
function search(
  open: readonly string[],
  visible: readonly string[] = [],
  maxUnavailable: number | string = 1,
) {
  const asked: string[] = [];
  const find = createFindRunningUpdates({
    view: {
      nodes: pictureOf([aNode('old-1', 'c1'), aNode('old-2', 'c1'), aNode('new', 'c2')]),
      pools: pictureOf([
        {
          metadata: { name: 'shop' },
          spec: {
            nodeSelector: { matchLabels: { pool: 'shop' } },
            configuration: { name: 'c2' },
            maxUnavailable,
          },
        },
      ]),
    },
    updates: {
      isRunning: (node) => {
        asked.push(node);
        return Promise.resolve(open.includes(node));
      },
      isOpen: () => Promise.reject(new Error('not asked here')),
      ofPool: () => Promise.resolve(visible),
    },
  });
  return { find, asked };
}

describe('finding running updates', () => {
  it('asks by workflow ID for every node of the pool that is behind: visibility may be late', async () => {
    const { find, asked } = search(['old-2']);

    await expect(find({ nodes: [], pool: 'shop' })).resolves.toEqual(['old-2']);
    expect(asked.sort()).toEqual(['old-1', 'old-2']);
  });

  it('adds what only visibility knows, and does not ask twice', async () => {
    const { find, asked } = search(['old-1', 'elsewhere'], ['elsewhere', 'old-1']);

    await expect(find({ nodes: [], pool: 'shop' })).resolves.toEqual(['elsewhere', 'old-1']);
    expect(asked).toEqual(['old-2']);
  });

  it('asks for those of a pool as well that has an impossible limit', async () => {
    const { find } = search(['old-1'], [], '0%');

    await expect(find({ nodes: [], pool: 'shop' })).resolves.toEqual(['old-1']);
  });

  it('without a pool asks for the named nodes only', async () => {
    const { find, asked } = search(['new'], ['elsewhere']);

    await expect(find({ nodes: ['new', 'old-1'] })).resolves.toEqual(['new']);
    expect(asked.sort()).toEqual(['new', 'old-1']);
  });
});
