import type { StepPorts } from '../../../../activities/cluster/step/ports';
import type { ActivityRun } from '../../../../activities/cluster/ports';
import { createStep } from '../../../../activities/cluster/step/step';
import { fail } from '../../../../core/errors';
import { historyOf } from '../../../../core/history/record';
import { ANNOTATION, LABEL } from '../../../../core/names';
import { overMarkOf } from '../../../../core/node/turn';
import type { MachineConfigNode, Node } from '../../../../core/node/types';
import type { MachineConfigPool } from '../../../../core/pool/types';
import type { OpenUpdate } from '../../../../core/rollout/picture';
import type { PoolRollout } from '../../../../core/rollout/pool-rollout';
import { aPool } from '../../core/pool/builders';
import {
  aRun,
  B,
  cordoned,
  done,
  failed,
  grantOf,
  old,
  waits,
} from '../../core/rollout/rollout-pool';

/** What a step reads and writes. Conflicts as the API server does. */
/** By then, visibility shows whatever was started before. */
const VISIBLE_MS = 15_000;

class World {
  rollout: PoolRollout | undefined;
  open: OpenUpdate[] = [];
  readonly asked: string[] = [];
  readonly started: string[] = [];
  readonly cancelled: string[] = [];
  readonly marks: string[] = [];
  readonly events: string[] = [];
  readonly poolChanges: unknown[] = [];
  readonly warnings: string[] = [];
  /** Called before each write of the pool. */
  beforePool: () => void = () => undefined;
  /** Runs that have yet to end, by node. */
  readonly ending = new Map<string, string>();
  lists = 0;
  /** The version of the caches. */
  newest = 7;
  nowMs = Date.parse('2029-06-02T00:00:00Z');
  /** Called before each write of the PoolRollout. */
  beforeWrite: () => void = () => undefined;
  beforeStart: () => void = () => undefined;
  beforeList: () => Promise<void> = () => Promise.resolve();
  pool: MachineConfigPool | undefined = workers(2, 'p1');
  #version = 0;

  readonly nodes: readonly Node[];

  constructor(
    nodes: readonly Node[],
    readonly waiting: readonly MachineConfigNode[] = [],
  ) {
    this.nodes = nodes.map((node) => ({
      ...node,
      metadata: { ...node.metadata, labels: { [LABEL.WORKER]: '' } },
    }));
  }

  put(rollout: PoolRollout): PoolRollout {
    const resourceVersion = String((this.#version += 1));
    this.rollout = { ...rollout, metadata: { ...rollout.metadata, resourceVersion } };
    return this.rollout;
  }

  given(...grants: NonNullable<PoolRollout['status']>['grants']): void {
    const owner = { apiVersion: '', kind: 'MachineConfigPool', name: 'worker', uid: 'p1' };
    const status = { grants } as unknown as NonNullable<PoolRollout['status']>;
    this.put({ metadata: { name: 'worker', ownerReferences: [owner] }, status });
  }

  granted(): readonly string[] {
    return this.rollout?.status?.grants.map(({ node, run }) => `${node}:${run}`) ?? [];
  }

  ports(): StepPorts {
    const lookup = <T>(list: () => readonly T[], get: (name: string) => T | undefined) => ({
      ...{ synced: Promise.resolve(), newest: this.newest, silentMs: 0 },
      ...{ list, get, subscribe: () => () => undefined },
      reached: (version: number) => Promise.resolve(version <= this.newest),
    });
    const none = lookup<never>(
      () => [],
      () => undefined,
    );
    return {
      now: () => this.nowMs,
      run: () =>
        ({ log: { warn: (text: string) => this.warnings.push(text) } }) as unknown as ActivityRun,
      view: {
        nodes: lookup(
          () => this.nodes,
          (name) => this.nodes.find(({ metadata }) => metadata.name === name),
        ),
        pools: lookup(
          () => (this.pool === undefined ? [] : [this.pool]),
          () => this.pool,
        ),
        machineConfigNodes: lookup(
          () => this.waiting,
          () => undefined,
        ),
        policies: lookup(
          () => [],
          () => ({ metadata: { name: 'worker' }, spec: { canary: { nodes: 0 } } }),
        ),
        machineConfigurations: none,
      },
      configs: {
        read: (name) =>
          Promise.resolve({
            metadata: { name },
            spec: { config: { ignition: { version: '3.4.0' } } },
          }),
      },
      nodes: {
        read: () => Promise.reject(new Error('not read here')),
        refresh: () => Promise.resolve(),
        change: (name, decide) => {
          const node = this.nodes.find(({ metadata }) => metadata.name === name);
          if (node === undefined) return Promise.reject(fail('ObjectNotFound', name));
          const mark = decide(node)?.annotations?.[ANNOTATION.UPDATE_RUN];
          if (mark) this.marks.push(`${name} ${mark}`);
          return Promise.resolve(node);
        },
      },
      events: {
        onNode: () => {
          throw new Error('a step tells of no node');
        },
        onPool: ({ name }, { reason, message }) => {
          this.events.push(`${name}: ${reason}: ${message}`);
        },
      },
      pools: {
        change: async (name, decide) => {
          const { pool } = this;
          if (pool === undefined) throw fail('ObjectNotFound', name);
          const change = await decide(pool);
          this.beforePool();
          this.poolChanges.push(change);
          const written = { ...pool.metadata.annotations, ...change?.annotations };
          const annotations = Object.fromEntries(
            Object.entries(written).flatMap(([key, text]) => (text === null ? [] : [[key, text]])),
          );
          this.pool = { ...pool, metadata: { ...pool.metadata, annotations } };
          return this.pool;
        },
      },
      poolRollouts: {
        read: () => Promise.resolve(this.rollout),
        create: ({ name, uid }) =>
          Promise.resolve(
            this.put({
              metadata: {
                name,
                ownerReferences: [{ apiVersion: '', kind: 'MachineConfigPool', name, uid }],
              },
            }),
          ),
        delete: () => {
          this.rollout = undefined;
          return Promise.resolve();
        },
        writeStatus: (read, status) => {
          this.beforeWrite();
          if (read.metadata.resourceVersion !== this.rollout?.metadata.resourceVersion) {
            return Promise.reject(fail('Conflict', 'another worker was first'));
          }
          return Promise.resolve(this.put({ ...read, status }));
        },
      },
      nodeUpdates: {
        listOpen: async () => {
          this.lists += 1;
          await this.beforeList();
          return this.open;
        },
        isClosed: (node, run) => {
          this.asked.push(node);
          return Promise.resolve(!this.open.some((update) => update.run === run));
        },
        start: ({ node, config }) => {
          this.beforeStart();
          this.started.push(`${node} ${config.name}`);
          return Promise.resolve(this.ending.get(node) ?? `new-${node}`);
        },
        cancel: ({ node, reason }) => {
          this.cancelled.push(`${node}: ${reason}`);
          return Promise.resolve();
        },
      },
    };
  }
}

function workers(maxUnavailable: number, uid: string): MachineConfigPool {
  const pool = aPool({ maxUnavailable, nodeSelector: { matchLabels: { [LABEL.WORKER]: '' } } });
  return { ...pool, metadata: { ...pool.metadata, uid } };
}

const step = (world: World) => createStep(world.ports())({ pool: 'worker' });

describe('a step', () => {
  it('makes the PoolRollout where there is none, grants, and starts the first updates', async () => {
    const world = new World([cordoned('a'), old('b'), old('c'), old('d')], [waits('b')]);
    world.open = [{ node: 'a', run: 'r1', config: B }];

    const result = await step(world);

    expect(world.granted()).toEqual(['a:r1', 'b:r1']);
    expect(world.started).toEqual([`c ${B}`, `d ${B}`]);
    expect(result).toMatchObject({
      state: 'Rolling',
      updated: '0 of 4',
      granted: ['b'],
      grantedCount: 1,
    });
  });

  it('decides once more when another worker has written in between', async () => {
    const waiting = [waits('a', 'r2'), waits('b', 'r3'), waits('c')];
    const world = new World([old('a'), old('b'), old('c')], waiting);
    world.given();
    world.beforeWrite = () => {
      world.beforeWrite = () => undefined;
      world.given(grantOf('c'));
    };

    await step(world);

    expect(world.granted()).toEqual(['c:r1', 'a:r2']);
  });

  it('is made good by the next one when it dies between its write and its acts', async () => {
    const world = new World([old('a')]);
    world.beforeStart = () => {
      world.beforeStart = () => undefined;
      throw fail('TemporalUnavailable', 'no answer');
    };

    await expect(step(world)).rejects.toThrow('no answer');
    await step(world);

    expect(world.started).toEqual([`a ${B}`]);
  });

  it('asks for a run that Temporal does not list, and says on its Node that it is over', async () => {
    const world = new World([old('a'), cordoned('b', 'r2')]);
    world.given(grantOf('a', 'r1'), grantOf('b', 'r2'));

    await step(world);

    expect(world.asked).toEqual(['a', 'b']);
    expect(world.marks).toEqual([`a ${overMarkOf(aRun('r1'))}`]);
    // What it has left is taken up.
    expect(world.started).toEqual([`b ${B}`]);
  });

  it('starts eight at most, and is to be repeated soon', async () => {
    const world = new World(Array.from({ length: 20 }, (_, index) => old(`n${10 + index}`)));
    world.pool = workers(12, 'p1');

    expect((await step(world)).lookAgainSeconds).toBe(1);
    expect(world.started).toHaveLength(8);
  });

  it('asks and starts nothing again within ten seconds', async () => {
    const world = new World([old('a')]);
    const again = createStep(world.ports());

    await again({ pool: 'worker' });
    await again({ pool: 'worker' });
    expect([world.lists, world.started.length]).toEqual([1, 1]);

    world.nowMs += 10_000;
    await again({ pool: 'worker' });
    expect([world.lists, world.started.length]).toEqual([2, 2]);
  });

  it('starts the next update of a node that was given back, whatever Temporal lists still', async () => {
    const world = new World([failed('a', { desired: 'rendered-worker-c' }), old('b')]);
    world.open = [
      { node: 'a', run: 'r1', config: 'rendered-worker-c' },
      { node: 'b', run: 'r2', config: B },
    ];

    expect((await step(world)).lookAgainSeconds).toBe(10);
    expect(world.started).toEqual([`a ${B}`]);
  });

  it('tries that again soon while the update before has yet to end', async () => {
    const world = new World([failed('a', { desired: 'rendered-worker-c' })]);
    world.open = [{ node: 'a', run: 'r1', config: 'rendered-worker-c' }];
    world.ending.set('a', 'r1');
    const again = createStep(world.ports());

    expect((await again({ pool: 'worker' })).lookAgainSeconds).toBe(1);
    world.ending.clear();
    await again({ pool: 'worker' });
    expect(world.started).toHaveLength(2);
    await again({ pool: 'worker' });
    expect(world.started).toHaveLength(2);
  });

  it('asks Temporal again when it has not answered for ten seconds', async () => {
    const world = new World([old('a')]);
    const again = createStep(world.ports());
    world.beforeList = () => new Promise(() => undefined);
    void again({ pool: 'worker' });
    while (world.lists === 0) await Promise.resolve();

    world.beforeList = () => Promise.resolve();
    world.nowMs += 10_000;

    expect(await again({ pool: 'worker' })).toMatchObject({ state: 'Rolling' });
  });

  it('cancels what should not run', async () => {
    const world = new World([old('a')]);
    world.open = [{ node: 'gone', run: 'r1', config: B }];

    await step(world);

    expect(world.cancelled).toEqual(['gone: node gone is in pool worker no more']);
  });

  it('cancels no more than once in ten seconds, and some at a time', async () => {
    const world = new World([old('a')]);
    world.open = Array.from({ length: 100 }, (_, index) => ({
      ...{ node: `gone-${index}`, run: `r${index}`, config: B },
    }));
    const again = createStep(world.ports());

    expect((await again({ pool: 'worker' })).lookAgainSeconds).toBe(1);
    expect(world.cancelled).toHaveLength(64);
    await again({ pool: 'worker' });
    await again({ pool: 'worker' });
    expect(world.cancelled).toHaveLength(100);
    world.nowMs += 10_000;
    await again({ pool: 'worker' });
    expect(world.cancelled).toHaveLength(164);
  });

  it('leaves all as it is where nobody knows the members of the pool', async () => {
    const world = new World([cordoned('a')]);
    world.given(grantOf('a'));
    world.open = [{ node: 'a', run: 'r1', config: B }];
    const nodeSelector = { matchExpressions: [{ key: 'role', operator: 'In' as const }] };
    world.pool = { ...aPool({ nodeSelector }), metadata: { name: 'worker', uid: 'p1' } };

    expect(await step(world)).toMatchObject({
      state: 'Blocked',
      blocker: expect.stringContaining('nodeSelector') as string,
    });
    expect(world.granted()).toEqual(['a:r1']);
    expect(world.cancelled).toEqual([]);
  });

  it('decides on no picture that is older than what was seen', async () => {
    const world = new World([old('a')]);
    const late = createStep(world.ports())({ pool: 'worker', atLeast: { machineConfigNodes: 8 } });

    await expect(late).rejects.toMatchObject({
      name: 'WatchBehind',
      message: 'the watch of machineConfigNodes is behind: version 8 was seen already',
    });
    expect(world.rollout).toBeUndefined();
  });

  it('forgets that a person started the rollout when it is completed, and not before', async () => {
    const world = new World([done('a')]);
    const annotations = { [ANNOTATION.ROLLOUT_STARTED]: B };
    const pool = workers(2, 'p1');
    world.pool = { ...pool, metadata: { ...pool.metadata, annotations } };

    await step(world);
    expect(world.poolChanges).toEqual([]);

    world.nowMs += VISIBLE_MS;
    await step(world);
    expect(world.poolChanges).toEqual([{ annotations: { [ANNOTATION.ROLLOUT_STARTED]: null } }]);

    world.open = [{ node: 'a', run: 'r9', config: B }];
    await step(world);
    expect(world.poolChanges).toHaveLength(1);
  });

  it('makes the PoolRollout anew that belongs to an earlier pool of the name', async () => {
    const world = new World([old('a')], [waits('a')]);
    world.given(grantOf('a', 'r0'));
    world.pool = workers(2, 'p2');

    await step(world);

    expect(world.granted()).toEqual(['a:r1']);
    expect(world.rollout?.metadata.ownerReferences?.map(({ uid }) => uid)).toEqual(['p2']);
  });

  it('tells on the pool whom it has granted, in one Event', async () => {
    const world = new World([old('a'), old('b')], [waits('a'), waits('b')]);
    await step(world);
    await step(world);

    expect(world.events).toEqual([
      `worker: SetDesiredConfig: Set target for 2 nodes to MachineConfig: ${B}`,
    ]);
  });

  describe('the history on the pool', () => {
    const recordsIn = ({ pool }: World) => historyOf(pool ?? workers(2, 'p1')).records;
    const begun = async () => {
      const world = new World([old('a')], [waits('a')]);
      await step(world);
      return world;
    };

    it('says that a rollout has begun, once', async () => {
      const world = await begun();
      await step(world);

      expect(recordsIn(world)).toEqual([{ config: B, startedAt: '2029-06-02T00:00:00.000Z' }]);
      expect(world.poolChanges).toHaveLength(1);
    });

    it('is written by the next attempt when the pool could not be written', async () => {
      const world = new World([old('a')], [waits('a')]);
      world.beforePool = () => {
        throw fail('Conflict', 'pool worker has changed');
      };
      await expect(step(world)).rejects.toMatchObject({ name: 'Conflict' });
      world.beforePool = () => undefined;
      await step(world);

      expect(recordsIn(world)).toHaveLength(1);
      expect(world.granted()).toEqual(['a:r1']);
    });

    it('holds up nobody when a policy refuses it', async () => {
      const world = new World([old('a')], [waits('a')]);
      world.beforePool = () => {
        throw fail('ApiRefused', 'a policy denies it');
      };

      expect((await step(world)).granted).toEqual(['a']);
      expect(world.warnings).toEqual(['the history of the pool is not written']);
    });
  });

  it('ends when all is done, and when the pool is gone and nothing runs', async () => {
    const world = new World([done('a')]);
    expect((await step(world)).ended).toBeUndefined();
    world.nowMs += VISIBLE_MS;
    expect((await step(world)).ended).toBe('completed');

    world.pool = undefined;
    world.open = [{ node: 'a', run: 'r1', config: B }];
    expect(await step(world)).toMatchObject({ state: 'Cancelling' });
    expect(world.cancelled).toEqual(['a: pool worker was deleted']);

    world.open = [];
    expect((await step(world)).ended).toBe('pool deleted');
  });
});
