import { whenAsNew } from '../../../../activities/cluster/when-synced';
import { versionsOf } from '../../../../workflows/picture-age';
import type { ClusterView, DatedLookup } from '../../../../activities/cluster/ports';
import { fail } from '../../../../core/errors';

/** A cache that stays at this version. */
function lookup<T>(newest: number): DatedLookup<T> {
  return {
    synced: Promise.resolve(),
    newest,
    silentMs: 0,
    reached: (version) => Promise.resolve(version <= newest),
    get: () => undefined,
    list: () => [],
    subscribe: () => () => undefined,
  };
}

const view: Pick<ClusterView, 'nodes' | 'pools' | 'policies'> = {
  nodes: lookup(12),
  pools: lookup(7),
  policies: lookup(0),
};

const nothing = () => Promise.resolve();

it('says how new a cache is, by kind', () => {
  expect(versionsOf(view)).toEqual({ nodes: 12, pools: 7, policies: 0 });
});

it('takes a cache that is as new as another one', async () => {
  await expect(
    whenAsNew(view, { nodes: 11, pools: 7, policies: 0 }, nothing),
  ).resolves.toBeUndefined();
});

it.each([
  ['nodes', { nodes: 13, pools: 7, policies: 0 }],
  ['machineconfigpools', { nodes: 12, pools: 8, policies: 0 }],
  ['rolloutpolicies', { nodes: 12, pools: 7, policies: 1 }],
])('refuses one that is behind in its %s', async (kind, versions) => {
  await expect(whenAsNew(view, versions, nothing)).rejects.toMatchObject({
    name: 'WatchBehind',
    message: expect.stringContaining(`the watch of ${kind} is behind: version `) as string,
  });
});

describe('one whose nodes are behind', () => {
  const told = { nodes: 13, pools: 7, policies: 0 };

  it('is taken once it was brought up to date', async () => {
    let newest = 12;
    const nodes = {
      ...lookup<never>(newest),
      reached: (version: number) => Promise.resolve(version <= newest),
    };
    const bringUpToDate = async (): Promise<void> => {
      newest = 13;
    };

    await expect(whenAsNew({ ...view, nodes }, told, bringUpToDate)).resolves.toBeUndefined();
  });

  it('is refused without an answer', async () => {
    const isAway = (): Promise<void> => Promise.reject(fail('ApiUnavailable', 'it is away'));

    await expect(whenAsNew(view, told, isAway)).rejects.toThrow('it is away');
  });
});
