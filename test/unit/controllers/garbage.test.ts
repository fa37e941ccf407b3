import { findGarbage } from '../../../controllers/render/garbage';
import { aNode, aPool, aRendered } from './objects';

const configs = [1, 2, 3, 4, 5, 6].map((day) =>
  aRendered(`r${day}`, 'worker', `2026-01-0${day}T00:00:00Z`),
);

const names = (input: Partial<Parameters<typeof findGarbage>[0]>): string[] =>
  findGarbage({ configs, pools: [], nodes: [], machineConfigNodes: [], keep: 0, ...input })
    .map(({ metadata }) => metadata.name)
    .sort();

describe('unused rendered configs', () => {
  it('go, oldest first, beyond those that are kept', () => {
    expect(names({ keep: 2 })).toEqual(['r1', 'r2', 'r3', 'r4']);
    expect(names({ keep: 6 })).toEqual([]);
  });

  it.each<[string, Parameters<typeof names>[0]]>([
    ['a pool goes to', { pools: [aPool('worker', { configuration: { name: 'r1' } })] }],
    [
      'a pool comes from',
      { pools: [aPool('worker', {}, { status: { configuration: { name: 'r1' } } })] },
    ],
    [
      'a pool whose rollout was cancelled waits for',
      { pools: [aPool('worker', {}, { annotations: { 'slipway.dev/rollout-cancelled': 'r1' } })] },
    ],
    ['a node is on', { nodes: [aNode({ current: 'r1' })] }],
    ['a node goes to', { nodes: [aNode({ desired: 'r1' })] }],
    ['a node is held for', { nodes: [aNode({ held: 'r1' })] }],
    [
      'a MachineConfigNode names',
      {
        machineConfigNodes: [
          {
            metadata: { name: 'n' },
            spec: {
              node: { name: 'n' },
              pool: { name: 'worker' },
              configVersion: { desired: 'r1' },
            },
          },
        ],
      },
    ],
  ])('stay when they are what %s', (_what, input) => {
    expect(names(input)).toEqual(['r2', 'r3', 'r4', 'r5', 'r6']);
  });

  it('of one pool stay while a node of another pool is on them', () => {
    const moved = aNode({ roles: ['infra'], current: 'r2' });

    expect(names({ nodes: [moved] })).not.toContain('r2');
  });
});
