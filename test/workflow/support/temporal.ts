import { Client, Connection } from '@temporalio/client';
import {
  DefaultLogger,
  NativeConnection,
  Runtime,
  Worker,
  type WorkflowBundleOption,
} from '@temporalio/worker';
import { pino } from 'pino';
import { CLUSTER_QUEUE, hostQueue, STEP_QUEUE } from '../../../core/names';
import { startTemporal, type TemporalOptions, type TemporalServer } from '../../../tools/temporal';
import { installTemporalRuntime } from '../../../process/temporal/runtime';
import { UNREPLAYABLE_FAILS } from '../../../workers/cluster/unreplayable';
import type { ClusterActivities } from '../../../workflows/contracts/cluster';
import { workflowBundle } from './bundle';
import type { RolloutActivities } from '../../../workflows/contracts/rollout';
import { FakeWorld, type WorldOptions } from './fake-world';
import { Script } from './script';

/**
 * A real Temporal server with the workflows as shipped. Updates of nodes act on fake worlds; what rollouts are answered
 * is scripted.
 */
export interface TestTemporal {
  readonly client: Client;
  readonly server: TemporalServer;
  /** A new pool with its own nodes and hosts. Its workers end with the server. */
  world(options?: WorldOptions): Promise<FakeWorld>;
  script(pool: string): Script;
  /** Broken promises since this was asked last. */
  violations(): readonly string[];
  /** Replaces the cluster worker by one with the workflows as shipped. */
  upgrade(): Promise<void>;
  stop(): Promise<void>;
}

/** Cancellations reach activities with the answer to a heartbeat, so heartbeats are sent at once. */
const QUICK_HEARTBEATS = {
  maxHeartbeatThrottleInterval: 50,
  defaultHeartbeatThrottleInterval: 50,
} as const;

/**
 * Starts a server and the cluster worker.
 *
 * @param forgetful - the worker caches one workflow; all others are replayed from their history
 */
export async function startTestTemporal(
  options: TemporalOptions & {
    readonly forgetful?: boolean;
    /** `host:port` where the worker serves its metrics. */
    readonly metricsAddress?: string;
    /** Code of the cluster worker until `upgrade`; absent = the workflows as shipped. */
    readonly code?: string;
  } = {},
): Promise<TestTemporal> {
  if (options.metricsAddress === undefined) quietRuntime();
  else installTemporalRuntime(pino({ level: 'silent' }), options.metricsAddress);
  const [server, codePath] = await Promise.all([
    startTemporal({ ui: false, ...options }),
    workflowBundle(),
  ]);
  const { address, namespace } = server;
  const native = await NativeConnection.connect({ address });
  const connection = await Connection.connect({ address });
  const client = new Client({ connection, namespace });
  const worlds = new Worlds(client);
  const running: { readonly worker: Worker; readonly done: Promise<void> }[] = [];
  const run = (worker: Worker): Promise<void> => {
    const done = worker.run();
    running.push({ worker, done });
    return done;
  };
  const clusterWorker = (workflowBundle: WorkflowBundleOption): Promise<Worker> =>
    Worker.create({
      connection: native,
      namespace,
      taskQueue: CLUSTER_QUEUE,
      workflowBundle,
      activities: worlds.clusterActivities(),
      ...(options.forgetful === true ? { maxCachedWorkflows: 1 } : {}),
      ...UNREPLAYABLE_FAILS,
      ...QUICK_HEARTBEATS,
    });
  void run(
    await Worker.create({
      ...{ connection: native, namespace, taskQueue: STEP_QUEUE },
      activities: { step: worlds.rolloutActivities().step },
    }),
  );
  const { code } = options;
  const first = await clusterWorker(code === undefined ? { codePath } : { code });
  const firstDone = run(first);
  return {
    client,
    server,
    world: async (worldOptions = {}) => {
      const world = worlds.create(worldOptions);
      for (const node of world.nodeNames()) {
        void run(
          await Worker.create({
            connection: native,
            namespace,
            taskQueue: hostQueue(node),
            activities: world.hostActivities(),
            activityTaskPollerBehavior: { type: 'simple-maximum', maximum: 1 },
            ...QUICK_HEARTBEATS,
          }),
        );
      }
      return world;
    },
    script: (pool) => worlds.script(pool),
    violations: () => worlds.violations(),
    upgrade: async () => {
      first.shutdown();
      await firstDone;
      void run(await clusterWorker({ codePath }));
    },
    stop: async () => {
      worlds.releaseAll();
      for (const { worker } of running) if (worker.getState() === 'RUNNING') worker.shutdown();
      await Promise.all(running.map(({ done }) => done));
      await connection.close();
      await native.close();
      await server.stop();
      await Runtime.instance().shutdown();
      if (bugs.length > 0) throw new Error(bugs.splice(0).join('\n'));
    },
  };
}

/** Routes the shared queues to the world of each node, and to the script of each rollout. */
class Worlds {
  private readonly worlds: FakeWorld[] = [];
  private readonly scripts = new Map<string, Script>();

  constructor(private readonly client: Client) {}

  create(options: WorldOptions): FakeWorld {
    const world = new FakeWorld(`p${this.worlds.length + 1}`, this.client, options);
    this.worlds.push(world);
    return world;
  }

  script(pool: string): Script {
    const script = this.scripts.get(pool) ?? new Script();
    this.scripts.set(pool, script);
    return script;
  }

  violations(): readonly string[] {
    return this.worlds.flatMap(({ violations }) => violations.splice(0));
  }

  releaseAll(): void {
    for (const world of this.worlds) world.releaseAll();
  }

  clusterActivities(): Record<string, (input: never) => Promise<unknown>> {
    const names = [
      'takeOutOfService',
      'cordonAgain',
      'drainNode',
      'checkCordon',
      'showRebooting',
      'showGoingBack',
      'awaitReturn',
      'completeNode',
      'releaseNode',
      'whyCancelled',
    ] as const satisfies readonly (keyof ClusterActivities)[];
    const ofNodes = names.map(
      (name) => [name, (input: { readonly pool: string }) => this.onNode(name, input)] as const,
    );
    const { writeWord } = this.rolloutActivities();
    return { ...Object.fromEntries(ofNodes), writeWord };
  }

  rolloutActivities(): RolloutActivities {
    return {
      step: (input) => this.script(input.pool).step(input),
      writeWord: (input) => this.script(input.pool).writeWord(input),
    };
  }

  private async onNode(
    name: keyof ClusterActivities,
    input: { readonly pool: string },
  ): Promise<unknown> {
    const world = this.worlds.find(({ pool }) => pool === input.pool);
    if (world === undefined) throw new Error(`no world for pool ${input.pool}`);
    const activity = world.clusterActivities()[name] as (argument: unknown) => Promise<unknown>;
    return activity(input);
  }
}

let installed = false;

/** Bugs that the workflows report about themselves; the workflows go on, and the suite fails. */
const bugs: string[] = [];

export function quietRuntime(): void {
  if (installed) return;
  installed = true;
  Runtime.install({
    logger: new DefaultLogger('ERROR', ({ message, meta }) => {
      const text = `${message} ${JSON.stringify(meta ?? {}, withoutBigInts)}`;
      if (message.startsWith('bug: ')) bugs.push(text);
      process.stderr.write(`${text}\n`);
    }),
    shutdownSignals: [],
    // Tests terminate workflows on purpose, about which Core logs warnings.
    telemetryOptions: { logging: { filter: { core: 'ERROR', other: 'ERROR' } } },
  });
}

function withoutBigInts(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value;
}
