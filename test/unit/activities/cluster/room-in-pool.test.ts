import { RoomInPools, type TakeRoom } from '../../../../activities/cluster/room-in-pool';
import type { ClusterPorts } from '../../../../activities/cluster/ports';
import { fail } from '../../../../core/errors';
import { ANNOTATION } from '../../../../core/names';
import type { Node } from '../../../../core/node/types';
import type { MachineConfigPool } from '../../../../core/pool/types';
import type { CordonNodeInput } from '../../../../workflows/contracts/cluster';
import { pictureOf } from './picture-of';

const STEP = {
  node: 'a',
  pool: 'worker',
  config: 'rendered-worker-1',
  workflowId: 'update-node/a',
};
const DONE = {
  [ANNOTATION.CURRENT_CONFIG]: 'rendered-worker-0',
  [ANNOTATION.DESIRED_CONFIG]: 'rendered-worker-0',
  [ANNOTATION.STATE]: 'Done',
};

/** Half way to another config, and in service. */
function serving(name: string, run?: string): Node {
  const { metadata, ...rest } = aNode(name);
  const mark =
    run === undefined ? {} : { [ANNOTATION.UPDATE_RUN]: `v1/2030-01-01T00:00:00Z/${run}` };
  const annotations = { ...metadata.annotations, ...mark, [ANNOTATION.STATE]: 'Working' };
  return { ...rest, metadata: { ...metadata, annotations } };
}

/** Half way to another config, and out of service under the cordon of that update. */
function left(name: string): Node {
  const { metadata, ...rest } = serving(name);
  const annotations = { ...metadata.annotations, [ANNOTATION.CORDONED_BY]: `update-node/${name}` };
  return { ...rest, metadata: { ...metadata, annotations }, spec: { unschedulable: true } };
}

function aNode(name: string, isReady = true, role = 'worker'): Node {
  return {
    metadata: { name, labels: { [`node-role.kubernetes.io/${role}`]: '' }, annotations: DONE },
    status: { conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }] },
  };
}

function aPool(name: string, maxUnavailable?: number | string): MachineConfigPool {
  return {
    metadata: { name },
    spec: {
      ...(maxUnavailable === undefined ? {} : { maxUnavailable }),
      nodeSelector: { matchLabels: { [`node-role.kubernetes.io/${name}`]: '' } },
    },
  };
}

/**
 * @param now - the nodes in the API server; default: as in the cache
 * @param open - the runs of updates that Temporal has
 */
function portsWith(
  shown: readonly Node[],
  maxUnavailable?: number | string,
  now: readonly Node[] = shown,
  open: readonly string[] = [],
): { readonly ports: ClusterPorts; readonly read: string[] } {
  const read: string[] = [];
  const ports = {
    view: {
      nodes: pictureOf(shown),
      pools: pictureOf([aPool('master'), aPool('worker', maxUnavailable)]),
    },
    nodes: {
      read: (name: string) => {
        read.push(name);
        const found = now.find(({ metadata }) => metadata.name === name);
        return found === undefined
          ? Promise.reject(fail('ObjectNotFound', `node ${name} does not exist`))
          : Promise.resolve(found);
      },
    },
    updates: {
      isOpen: (name: string, run: string) => {
        read.push(`${run} of ${name}`);
        return Promise.resolve(open.includes(run));
      },
      isRunning: (name: string) => {
        read.push(`update of ${name}`);
        return Promise.resolve(open.includes(name));
      },
    },
  } as unknown as ClusterPorts;
  return { ports, read };
}

/** Ports whose cache has been silent for this time. */
function silentPorts(shown: readonly Node[], now: readonly Node[], silentMs: number) {
  const { ports, read } = portsWith(shown, 1, now);
  const known = [...shown];
  let isAway = false;
  const refresh = async (): Promise<void> => {
    read.push('all nodes');
    await turns();
    if (isAway) throw fail('ApiUnavailable', 'the API server does not answer');
    known.splice(0, known.length, ...now);
  };
  const silent = {
    ...ports,
    view: { ...ports.view, nodes: pictureOf(known, silentMs) },
    nodes: { ...ports.nodes, refresh },
  } as unknown as ClusterPorts;
  return {
    ports: silent,
    read,
    goAway: () => {
      isAway = true;
    },
  };
}

function look(...shown: Parameters<typeof portsWith>): {
  readonly done: Promise<void>;
  readonly read: string[];
} {
  const { ports, read } = portsWith(...shown);
  const self = shown[0].find(({ metadata }) => metadata.name === STEP.node) ?? aNode(STEP.node);
  const done = new RoomInPools(ports).whileThereIs(STEP, (takeRoom) => {
    takeRoom(self);
    return Promise.resolve();
  });
  return { done, read };
}

const stepOf = (node: string) => ({ ...STEP, node, workflowId: `update-node/${node}` });

/** A cordon whose write is in progress until the test ends it. */
function cordon(room: RoomInPools, name: string) {
  let end: (outcome: 'written' | 'failed') => void = () => undefined;
  let again: TakeRoom = () => undefined;
  const done = room.whileThereIs(stepOf(name), (takeRoom) => {
    takeRoom(aNode(name));
    again = takeRoom;
    return new Promise<void>((resolve, reject) => {
      end = (outcome) => {
        if (outcome === 'written') resolve();
        else reject(new Error('the answer was lost'));
      };
    });
  });
  done.catch(() => undefined);
  return {
    done,
    end: (outcome: 'written' | 'failed') => {
      end(outcome);
    },
    /** The write conflicted, and is decided again on the present Node. */
    decideAgain: () => {
      again(aNode(name));
    },
  };
}

const turns = () => new Promise((resolve) => setImmediate(resolve));

it('lets a node be cordoned while there is a free slot, without a request', async () => {
  const { done, read } = look([aNode('a'), aNode('b', false), aNode('c')], 2);
  await expect(done).resolves.toBeUndefined();
  expect(read).toEqual([]);
});

it('refuses when others have gone down since the slot was given, and names them', async () => {
  const { done } = look([aNode('a'), aNode('b', false), aNode('c')], 1);
  await expect(done).rejects.toMatchObject({
    name: 'SlotNeeded',
    message: 'pool worker has no free slot: maxUnavailable is 1, and out of service are b',
  });
});

it('refuses when the limit was lowered since', async () => {
  const down = ['b', 'c', 'd', 'e'].map((name) => aNode(name, false));
  const { done } = look([aNode('a'), ...down], 3);
  await expect(done).rejects.toThrow('out of service are b, c, d and 1 more');
});

it.each([
  ['is back by now', [aNode('a'), aNode('b')]],
  ['is gone by now', [aNode('a')]],
])('asks again before it refuses: the node that is shown down %s', async (_what, now) => {
  const { done, read } = look([aNode('a'), aNode('b', false)], 1, now);
  await expect(done).resolves.toBeUndefined();
  expect(read).toEqual(['b']);
});

it('does not count nodes of other pools', async () => {
  const { done, read } = look([aNode('a'), aNode('m', false, 'master')], 1);
  await expect(done).resolves.toBeUndefined();
  expect(read).toEqual([]);
});

it.each([
  ['34%', 'resolves'],
  ['33%', 'rejects'],
] as const)('takes %s of the nodes of the pool', async (share, what) => {
  const nodes = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => aNode(name, name !== 'b'));
  const { done } = look([...nodes, aNode('m', true, 'master')], share);
  if (what === 'resolves') await expect(done).resolves.toBeUndefined();
  else await expect(done).rejects.toMatchObject({ name: 'SlotNeeded' });
});

describe('a control-plane node', () => {
  const PLANE = { 'node-role.kubernetes.io/control-plane': 'true' };
  const master = (name: string, isReady = true, role = 'worker'): Node => {
    const { metadata, ...rest } = aNode(name, isReady, role);
    return { ...rest, metadata: { ...metadata, labels: { ...metadata.labels, ...PLANE } } };
  };

  it('waits where the quorum allows no more, whatever the pool says', async () => {
    const { done } = look([master('a'), master('b', false), master('c'), aNode('w')], 4);
    await expect(done).rejects.toMatchObject({
      name: 'SlotNeeded',
      message: 'at most 1 of 3 control-plane nodes at once, and out of service are b',
    });
  });

  it.each([
    ['of another pool', 'master'],
    ['of none', 'none'],
  ])('waits for one %s', async (_what, role) => {
    const { done } = look([master('a'), master('b', false, role), master('c')], 4);
    await expect(done).rejects.toThrow('out of service are b');
  });

  it('waits for one of another pool that the cache shows in service still', async () => {
    const shown = [master('a'), master('b', true, 'master'), master('c')];
    const down = [{ ...left('b') }].map((node) => ({
      ...node,
      metadata: { ...node.metadata, resourceVersion: '9', labels: { ...PLANE } },
    }));
    const { done } = look(shown, 4, [...down, master('c')]);
    await expect(done).rejects.toThrow('out of service are b');
  });

  it('does not wait for nodes that are none, nor do these for it', async () => {
    const nodes = [master('a'), master('b'), master('c'), aNode('w', false)];
    await expect(look(nodes, 4).done).resolves.toBeUndefined();
    await expect(look([aNode('a'), master('b', false)], 4).done).resolves.toBeUndefined();
  });

  it('counts one whose cordon is only being written, also of another pool', async () => {
    const shown = [master('a'), master('b', true, 'master'), master('c')];
    const { ports } = portsWith(shown, 3);
    const room = new RoomInPools(ports);
    const first = room.whileThereIs({ ...stepOf('b'), pool: 'master' }, async (takeRoom) => {
      takeRoom(master('b', true, 'master'));
      await expect(
        room.whileThereIs(stepOf('a'), (take) => {
          take(master('a'));
          return Promise.resolve();
        }),
      ).rejects.toThrow('out of service are b');
    });
    await first;
  });
});

it('lets a node go that an update has left out of service', async () => {
  const { done } = look([left('a'), aNode('b', false)]);
  await expect(done).resolves.toBeUndefined();
});

it('refuses one that an update has begun and somebody has put back into service', async () => {
  const { done } = look([serving('a'), aNode('b', false)]);
  await expect(done).rejects.toMatchObject({ name: 'SlotNeeded' });
});

describe('another node that serves although an update has begun on it', () => {
  const cordonBeside = (other: Node, open: readonly string[] = []) =>
    look([aNode('a'), other], 1, undefined, open);

  it('counts while that update is at work, also where the node does not say which it was', async () => {
    const { done, read } = cordonBeside(serving('b', 'run'), ['run']);
    await expect(done).rejects.toThrow('out of service are b');
    expect(read).toEqual(['run of b', 'b']);
    const unnamed = cordonBeside(serving('b'), ['b']);
    await expect(unnamed.done).rejects.toThrow('out of service are b');
    expect(unnamed.read).toEqual(['update of b', 'b']);
  });

  it('takes no room once that update is over', async () => {
    await expect(cordonBeside(serving('b', 'run')).done).resolves.toBeUndefined();
    await expect(cordonBeside(serving('b')).done).resolves.toBeUndefined();
    const { done, read } = cordonBeside(serving('b', 'run/over'));
    await expect(done).resolves.toBeUndefined();
    expect(read).toEqual([]);
  });

  it('takes no room from a numbered slot: the number counts the slot that it has, if it has one', async () => {
    const others = [serving('b', 'run'), serving('c')];
    const { ports, read } = portsWith([aNode('a'), ...others], 1, undefined, ['run', 'c']);
    const cordonWith = (slotNumber: number) =>
      new RoomInPools(ports).whileThereIs({ ...STEP, slotNumber }, (takeRoom) =>
        Promise.resolve(takeRoom(aNode('a'))),
      );
    await expect(cordonWith(1)).resolves.toBeUndefined();
    expect(read).toEqual([]);
    await expect(cordonWith(2)).rejects.toMatchObject({ name: 'SlotNeeded' });
  });

  it('is asked about once', async () => {
    const { ports, read } = portsWith([aNode('a'), serving('b', 'run')], 1);
    const room = new RoomInPools(ports);
    const take = (takeRoom: TakeRoom) => Promise.resolve(takeRoom(aNode('a')));
    await room.whileThereIs(STEP, take);
    await room.whileThereIs(STEP, take);
    expect(read).toEqual(['run of b']);
  });
});

it('refuses one that is down by itself: it may be back before it is applied', async () => {
  const { done } = look([aNode('a', false), aNode('b', false)], 1);
  await expect(done).rejects.toMatchObject({ name: 'SlotNeeded' });
});

it('lets none be cordoned under an invalid limit', async () => {
  const { done } = look([aNode('a')], '0%');
  await expect(done).rejects.toMatchObject({ name: 'SlotNeeded' });
});

it('knows no room in a pool that is not there any more: its nodes count for another one', async () => {
  const room = new RoomInPools(portsWith([aNode('a'), aNode('b', false)], 1).ports);
  const written = jest.fn();
  const done = room.whileThereIs({ ...STEP, pool: 'infra' }, written);
  await expect(done).rejects.toMatchObject({
    name: 'ApiUnavailable',
    message: expect.stringContaining('machineconfigpool infra is not known here') as string,
  });
  expect(written).not.toHaveBeenCalled();
});

describe('a cache that nothing has been heard for', () => {
  const SHOWN = [aNode('a'), aNode('b')];
  const NOW = [aNode('a'), aNode('b', false)];
  const cordonIn = (room: RoomInPools) =>
    room.whileThereIs(STEP, (takeRoom) => Promise.resolve(takeRoom(aNode('a'))));

  it('is brought up to date before a node is let go: another one may be down by now', async () => {
    const { ports, read } = silentPorts(SHOWN, NOW, 20_000);
    await expect(cordonIn(new RoomInPools(ports))).rejects.toThrow('out of service are b');
    expect(read).toEqual(['all nodes', 'b']);
  });

  it.each<[string, readonly Node[]]>([
    ['does not show this node yet', [aNode('b')]],
    ['shows this node out of service, as an update left it', [left('a'), aNode('b')]],
  ])('is brought up to date also where it %s', async (_what, shown) => {
    const { ports, read } = silentPorts(shown, NOW, 20_000);
    await expect(cordonIn(new RoomInPools(ports))).rejects.toThrow('out of service are b');
    expect(read).toEqual(['all nodes', 'b']);
  });

  it('costs no request while the watch is active, and one for all concurrent questions otherwise', async () => {
    const heard = silentPorts(SHOWN, NOW, 10_000);
    await expect(cordonIn(new RoomInPools(heard.ports))).resolves.toBeUndefined();
    expect(heard.read).toEqual([]);

    const { ports, read } = silentPorts(SHOWN, SHOWN, 20_000);
    const room = new RoomInPools(ports);
    await Promise.all([cordonIn(room), cordonIn(room)]);
    await cordonIn(room);
    expect(read).toEqual(['all nodes']);
  });

  it('lets no node be cordoned while the state of the nodes is unknown', async () => {
    const { ports, goAway } = silentPorts(SHOWN, SHOWN, 20_000);
    const room = new RoomInPools(ports);
    goAway();
    await expect(cordonIn(room)).rejects.toMatchObject({ name: 'ApiUnavailable' });
    await expect(cordonIn(room)).rejects.toMatchObject({ name: 'ApiUnavailable' });
  });
});

describe('cordons that are written at the same time', () => {
  const noRoom = { name: 'SlotNeeded' };

  it('count each other before the cache shows them', async () => {
    const room = new RoomInPools(portsWith([aNode('a'), aNode('b'), aNode('c')], 2).ports);
    const [first, second, third] = ['a', 'b', 'c'].map((name) => cordon(room, name));

    await expect(third?.done).rejects.toMatchObject({
      ...noRoom,
      message: 'pool worker has no free slot: maxUnavailable is 2, and out of service are a, b',
    });
    first?.end('written');
    second?.end('written');
    await expect(Promise.all([first?.done, second?.done])).resolves.toHaveLength(2);
  });

  it('do not wait for each other while there are free slots, and send no request', async () => {
    const names = ['a', 'b', 'c', 'd'];
    const { ports, read } = portsWith(
      names.map((name) => aNode(name)),
      4,
    );
    const room = new RoomInPools(ports);
    const all = names.map((name) => cordon(room, name));
    await turns();

    for (const one of all) one.end('written');
    await expect(Promise.all(all.map(({ done }) => done))).resolves.toHaveLength(4);
    expect(read).toEqual([]);
  });

  it.each(['written', 'failed'] as const)('count no longer than their write: %s', async (end) => {
    const room = new RoomInPools(portsWith([aNode('a'), aNode('b')], 1).ports);
    const first = cordon(room, 'a');
    await turns();
    first.end(end);
    await Promise.allSettled([first.done]);

    const second = cordon(room, 'b');
    await turns();
    second.end('written');
    await expect(second.done).resolves.toBeUndefined();
  });

  it('are counted once when the cache shows them before their write is over', async () => {
    const shown = [aNode('a'), aNode('b'), aNode('c')];
    const room = new RoomInPools(portsWith(shown, 2).ports);
    const first = cordon(room, 'a');
    await turns();
    shown[0] = aNode('a', false);

    const second = cordon(room, 'b');
    await turns();
    for (const one of [first, second]) one.end('written');
    await expect(second.done).resolves.toBeUndefined();
  });

  it('of other pools take no room', async () => {
    const room = new RoomInPools(portsWith([aNode('m', true, 'master'), aNode('a')], 1).ports);
    const other = room.whileThereIs({ ...stepOf('m'), pool: 'master' }, async (takeRoom) => {
      takeRoom(aNode('m', true, 'master'));
      await turns();
    });
    const own = cordon(room, 'a');
    await turns();
    own.end('written');
    await expect(Promise.all([other, own.done])).resolves.toHaveLength(2);
  });

  it('look again when their write conflicts', async () => {
    const shown = [aNode('a'), aNode('b')];
    const room = new RoomInPools(portsWith(shown, 1).ports);
    const first = cordon(room, 'a');
    await turns();

    expect(first.decideAgain).not.toThrow();
    shown[1] = aNode('b', false);
    expect(first.decideAgain).toThrow('out of service are b');
    first.end('failed');
  });
});

describe('cordons of several cluster workers at the same time', () => {
  /** Each in its own process, with the same cache. */
  const cordonIn = (
    { ports }: ReturnType<typeof portsWith>,
    slot: Pick<CordonNodeInput, 'node' | 'slotNumber' | 'slotCounts' | 'slotsPending'>,
  ) =>
    new RoomInPools(ports).whileThereIs({ ...STEP, ...slot }, (takeRoom) => {
      takeRoom(aNode(slot.node));
      return turns();
    });
  const cordonBy = (
    shown: ReturnType<typeof portsWith>,
    node: string,
    slotNumber?: number,
    slotCounts?: readonly string[],
  ) =>
    cordonIn(shown, {
      node,
      ...(slotNumber === undefined ? {} : { slotNumber }),
      ...(slotCounts === undefined ? {} : { slotCounts }),
    });
  const outcomes = async (all: readonly Promise<unknown>[]) =>
    (await Promise.allSettled(all)).map(({ status }) => status);

  it('are kept within a limit that was lowered since by the numbers of their slots', async () => {
    const shown = portsWith([aNode('a'), aNode('b'), aNode('c')], 1);
    const all = ['a', 'b', 'c'].map((node, index) => cordonBy(shown, node, index + 1));

    await expect(all[1]).rejects.toMatchObject({
      name: 'SlotNeeded',
      message: 'pool worker has no free slot 2: maxUnavailable is 1',
    });
    expect(await outcomes(all)).toEqual(['fulfilled', 'rejected', 'rejected']);
    expect(shown.read).toEqual([]);
  });

  const shows = (name: string, annotations: Readonly<Record<string, string>>, down: boolean) => {
    const node = aNode(name, !down);
    return {
      ...node,
      metadata: { ...node.metadata, annotations: { ...DONE, ...annotations } },
    } satisfies Node;
  };
  const drifted = {
    [ANNOTATION.STATE]: 'Degraded',
    [ANNOTATION.REASON]: 'unexpected on-disk state validating against /etc/motd',
  };
  const failed = {
    [ANNOTATION.DESIRED_CONFIG]: 'rendered-worker-x',
    [ANNOTATION.STATE]: 'Degraded',
  };

  it.each([
    ['whose disk has drifted', shows('d', drifted, true)],
    ['whose update has failed', shows('d', failed, true)],
    ['that a person has cordoned', { ...shows('d', failed, false), spec: { unschedulable: true } }],
  ])('are kept within the limit when a node that served has gone down, %s', async (_, down) => {
    const shown = portsWith([aNode('a'), aNode('b'), down], 2);
    const all = ['a', 'b'].map((node, index) => cordonBy(shown, node, index + 1, []));

    await expect(all[1]).rejects.toThrow(
      'maxUnavailable is 2, and unavailable for another reason are d',
    );
    expect(await outcomes(all)).toEqual(['fulfilled', 'rejected']);
  });

  it('count a failed node that was down when the slots were given once, before its cordon and after it', async () => {
    const down = shows('f', failed, true);
    const before = portsWith([aNode('a'), aNode('b'), down], 3);
    const another = portsWith([aNode('a'), aNode('b'), left('f'), aNode('e', false)], 3);
    const cordonAll = (shown: typeof before) =>
      outcomes(['a', 'b'].map((node, index) => cordonBy(shown, node, index + 2, ['f'])));

    expect(await cordonAll(before)).toEqual(['fulfilled', 'fulfilled']);
    expect(await cordonAll(another)).toEqual(['fulfilled', 'rejected']);
  });

  it('are kept within the limit when a slot that was given later has been used, and another node has gone down', async () => {
    const shown = portsWith(
      ['a', 'b', 'c'].map((name) => aNode(name)).concat(left('d'), aNode('e', false)),
      4,
    );
    const given = ['a', 'b', 'c'].map((node, index) => ({ node, slotNumber: index + 1 }));
    const all = given.map((one, index) =>
      cordonIn(shown, { ...one, slotCounts: [], slotsPending: ['a', 'b'].slice(0, index) }),
    );

    await expect(all[2]).rejects.toThrow(
      'maxUnavailable is 4, and out of service are d, e, and about to leave service are a, b',
    );
    expect(await outcomes(all)).toEqual(['fulfilled', 'fulfilled', 'rejected']);
  });

  it('are counted with what an update has left when those are too many to name', async () => {
    const shown = portsWith([aNode('a'), aNode('b'), shows('f', failed, true)], 3);
    const all = ['a', 'b'].map((node, index) => cordonBy(shown, node, index + 2));

    expect(await outcomes(all)).toEqual(['fulfilled', 'fulfilled']);
  });

  it('are kept within the limit when another node has gone down', async () => {
    const shown = portsWith([aNode('a'), aNode('b'), aNode('d', false)], 2);
    const all = ['a', 'b'].map((node, index) => cordonBy(shown, node, index + 1));

    await expect(all[1]).rejects.toThrow(
      'no free slot 2: maxUnavailable is 2, and unavailable for another reason are d',
    );
    expect(await outcomes(all)).toEqual(['fulfilled', 'rejected']);
  });

  it('ask whether it is back by now', async () => {
    const shown = portsWith([aNode('b'), aNode('d', false)], 2, [aNode('b'), aNode('d')]);
    await expect(cordonBy(shown, 'b', 2)).resolves.toBeUndefined();
    expect(shown.read).toEqual(['d']);
  });

  it('do not count those twice that updates have taken out of service', async () => {
    const { metadata, ...rest } = aNode('x');
    const annotations = { ...metadata.annotations, [ANNOTATION.STATE]: 'Working' };
    const taken: Node = { ...rest, metadata: { ...metadata, annotations } };
    const shown = portsWith([aNode('a'), taken], 2);
    await expect(cordonBy(shown, 'a', 2)).resolves.toBeUndefined();
    expect(shown.read).toEqual([]);
  });

  it('send no request when far too many nodes are unavailable', async () => {
    const down = Array.from({ length: 30 }, (_, index) => aNode(`d${index}`, false));
    const shown = portsWith([aNode('a'), ...down], 3, [aNode('a')]);
    await expect(cordonBy(shown, 'a', 1)).rejects.toThrow('d0, d1, d2 and 27 more');
    expect(shown.read).toEqual([]);
  });
});

it('believes what it asked until the cache is newer', async () => {
  const at = (node: Node, resourceVersion: string): Node => ({
    ...node,
    metadata: { ...node.metadata, resourceVersion },
  });
  const shown = [aNode('a'), at(aNode('b', false), '4')];
  const { ports } = portsWith(shown, 1, [at(aNode('b'), '7')]);
  const room = new RoomInPools(ports);

  await room.whileThereIs(STEP, (takeRoom) => {
    expect(() => {
      takeRoom(aNode('a'));
    }).not.toThrow();
    shown[1] = at(aNode('b', false), '8');
    expect(() => {
      takeRoom(aNode('a'));
    }).toThrow('out of service are b');
    return Promise.resolve();
  });
});
