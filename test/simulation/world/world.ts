/** All parts of a simulated cluster together, and what can be done to it from outside. */

import type { WorkflowClient } from '@temporalio/client';
import { messageOf } from '../../../core/errors';
import { poolRolloutId, updateNodeId } from '../../../core/names';
import type { Node } from '../../../core/node/types';
import type { Grant, PoolRolloutStatus } from '../../../core/rollout/pool-rollout';
import type { PoolRolloutInput, SeenVersions } from '../../../workflows/contracts/rollout';
import { RolloutWaker } from '../../../process/temporal/rollout-waker';
import { Chance, type VirtualClock } from '../clock';
import { Invariants } from '../observer';
import type { Scenario } from '../scenario';
import type { Attempt } from '../temporal/attempt';
import { TemporalClient } from '../temporal/client';
import type { Execution } from '../temporal/execution';
import type { Sandbox } from '../temporal/sandbox';
import { TemporalModel, type Observer } from '../temporal/server';
import type { Trace } from '../trace';
import { Cluster, type NodeWrite, type RolloutWrite } from './cluster';
import type { ClusterWorld, SimulatedPod } from './cluster-ports';
import { ClusterWorker } from './cluster-worker';
import { Controllers } from './controller';
import { Faults } from './faults';
import { Host } from './host';
import type { SimulatedConfig } from './journal';
import { performOnHost } from './host-activities';
import { registerNode } from './joining';
import { describeNode, describeRollout, readyNode } from './node-objects';
import type { ActivityPlants } from './plants';
import { aPool, labelsFor, poolOfLabels, WORKER } from './pools';

const HOST_QUEUE = 'host/';
const UPDATE = 'update-node/';

interface WorldParts {
  readonly clock: VirtualClock;
  readonly chance: Chance;
  readonly trace: Trace;
  readonly sandbox: Sandbox;
  readonly scenario: Scenario;
  readonly plants: ActivityPlants;
}

export class World {
  readonly clock: VirtualClock;
  readonly chance: Chance;
  /** In the order of the scenario, `worker` first. */
  readonly pools: readonly string[];
  readonly hosts = new Map<string, Host>();
  readonly pods = new Map<string, SimulatedPod[]>();
  readonly cluster: Cluster;
  readonly temporal: TemporalModel;
  readonly client: TemporalClient;
  readonly workers: readonly ClusterWorker[];
  readonly controllers: Controllers;
  readonly invariants: Invariants;
  readonly faults: Faults;
  private readonly configs: ReadonlyMap<string, readonly SimulatedConfig[]>;
  private readonly byName: ReadonlyMap<string, SimulatedConfig>;
  private readonly trace: Trace;
  private readonly plants: ActivityPlants;
  /** Nodes in the order in which they were given grants. */
  readonly granted: string[] = [];
  /** Called once, with the node of the next grant that is given. */
  atNextGrant: ((node: string, pool: string) => void) | undefined;
  /** Called with each machine whose kubelet says that it is Ready. */
  whenReady: ((host: Host) => void) | undefined;
  /** Takes up every attempt; undefined = whichever is free. */
  onlyWorker: ClusterWorker | undefined;
  private readonly whichWorker: Chance;
  /** Each is called with each node that Slipway cordons. */
  readonly whenCordoned: ((node: string) => void)[] = [];
  private added = 0;

  constructor({ clock, chance, trace, sandbox, scenario, plants }: WorldParts) {
    this.clock = clock;
    this.chance = chance;
    this.trace = trace;
    this.plants = plants;
    this.pools = scenario.pools.map(({ name }) => name);
    this.configs = new Map(scenario.pools.map(({ name, configs }) => [name, configs]));
    const configs = scenario.pools.flatMap((pool) => pool.configs);
    this.byName = new Map(configs.map((config) => [config.name, config]));
    this.faults = new Faults(
      chance.fork(),
      scenario.weather,
      scenario.longHistory,
      new Chance(scenario.seed * 86_028_121 + 202),
      (attempt) => {
        this.killWorkerOf(attempt);
      },
    );
    this.cluster = new Cluster(
      clock,
      chance.fork(),
      scenario.pools.map(({ name, maxUnavailable, policy }) => ({
        pool: aPool(name, maxUnavailable, this.configAt(name, 1).name),
        policy,
      })),
      scenario.slowWorker,
    );
    this.whichWorker = new Chance(scenario.seed * 86_028_121 + 205);
    this.invariants = new Invariants(
      clock,
      this.cluster,
      this.hosts,
      this.pods,
      this.byName,
      (node) => this.temporal.isRunning(updateNodeId(node)),
      (node) => this.temporal.isRunning(updateNodeId(node)),
      (pool) => this.temporal.isRunning(poolRolloutId(pool)),
      () => this.client.isAway,
    );
    this.temporal = new TemporalModel({
      ...{ clock, sandbox },
      chance: chance.fork(),
      faults: this.faults,
      perform: (attempt) => this.perform(attempt),
      whenPolled: (queue, start) => this.whenPolled(queue, start),
      observer: this.observer(),
      note: (who, what) => this.note(who, what),
    });
    this.client = new TemporalClient(clock, chance.fork(), this.temporal, this.faults);
    const waker = this.waker();
    const wake = (pool: string, seen: SeenVersions): void => {
      waker.wake(pool, seen).catch((error: unknown) => {
        this.note(pool, `nobody hears that it should look again: ${messageOf(error)}`);
      });
    };
    const clusterWorld = this.clusterWorld(wake);
    const { pictures } = this.cluster;
    this.workers = pictures.map((picture) => new ClusterWorker(clusterWorld, picture));
    for (let i = 0; i < scenario.nodes; i += 1) {
      const pool = this.pools[i % this.pools.length] ?? WORKER;
      this.cluster.addNode(
        this.machine(pool, this.configAt(pool, 0), i < scenario.stuckPods),
        true,
      );
    }
    this.cluster.onWrite = (write) => {
      const { before, after, by } = write;
      const shown = after === undefined ? 'deleted' : describeNode(after);
      this.note((after ?? before)?.metadata.name ?? '', `node (${by}): ${shown}`);
      this.invariants.wrote(write);
      if (by !== 'slipway' || !isCordon(write)) return;
      for (const hear of this.whenCordoned) hear(after?.metadata.name ?? '');
    };
    this.cluster.onRolloutWrite = (write) => {
      this.rolloutWritten(write);
    };
    this.invariants.poolChanged();
    const { cluster, client } = this;
    this.controllers = new Controllers({
      ...{ clock, cluster, client, plants, waker },
      chance: chance.fork(),
    });
  }

  note(who: string, what: string): void {
    this.trace.add(who, what);
  }

  /** No number is drawn where there is no choice. */
  anyPool(chance: Chance): string {
    return this.pools.length === 1 ? WORKER : chance.pick(this.pools);
  }

  configsOf(pool: string): readonly SimulatedConfig[] {
    return this.configs.get(pool) ?? [];
  }

  anyHost(chance: Chance): Host | undefined {
    const hosts = [...this.hosts.values()].filter(({ isDead }) => !isDead);
    return hosts.length === 0 ? undefined : chance.pick(hosts);
  }

  // -- What people do ---------------------------------------------------------------------------

  /** An update of the rollout; whatever it answers is written down. */
  ask(
    pool: string,
    name: string,
    input: { readonly node?: string; readonly reason?: string },
  ): void {
    if (name === 'retryNode') this.invariants.toldToRetry(input.node ?? '');
    const said = this.invariants.words.asked(pool, name, input.node);
    const { accepted } = said;
    void this.temporal.update(poolRolloutId(pool), name, input, accepted).then((answer) => {
      said.answered(answer.ok);
      this.note('person', `${name}: ${answer.ok ? 'done' : answer.error.message}`);
    });
  }

  /** The same, of the rollout of the pool that the node is in. */
  askOf(node: string, name: string): void {
    const known = this.cluster.nodes.get(node);
    this.ask(known === undefined ? WORKER : poolOfLabels(known), name, { node });
  }

  startByHand(pool: string): void {
    const id = poolRolloutId(pool);
    this.temporal.start('poolRollout', id, { pool });
    void this.temporal.update(id, 'start', {}).then((answer) => {
      this.note('person', `start: ${answer.ok ? 'done' : answer.error.message}`);
    });
  }

  async terminate(workflowId: string): Promise<void> {
    const execution = this.temporal.find(workflowId);
    if (execution?.status !== 'running') return;
    if (workflowId.startsWith(UPDATE)) this.invariants.updateTerminated(nodeOf(workflowId));
    await execution.terminate();
  }

  /** Its database is lost, with everything that ran. */
  async loseTemporal(): Promise<void> {
    for (const { id } of this.temporal.open()) {
      if (id.startsWith(UPDATE)) this.invariants.updateTerminated(nodeOf(id));
    }
    await this.temporal.loseDatabase();
  }

  /** The pool has another rendered config. */
  render(name: string, config: string): void {
    if (this.cluster.pool(name).spec.configuration?.name === config) return;
    this.note('render', config);
    this.cluster.changePool(name, (pool) => ({
      ...pool,
      spec: { ...pool.spec, configuration: { name: config } },
    }));
  }

  limit(name: string, maxUnavailable: number | string): void {
    this.cluster.changePool(name, (pool) => ({ ...pool, spec: { ...pool.spec, maxUnavailable } }));
    this.invariants.poolChanged();
  }

  unpause(name: string): void {
    this.invariants.words.wroteHimself(name, false);
    this.cluster.changePool(name, (pool) => ({ ...pool, spec: { ...pool.spec, paused: false } }));
  }

  changePolicy(pool: string, chance: Chance): void {
    this.cluster.policies.set(pool, {
      ...this.cluster.policy(pool),
      canary: { nodes: chance.between(0, 2) },
      failureThreshold: chance.pick([1, 2, '50%', '100%']),
      prepareAhead: chance.between(0, 4),
    });
    this.invariants.policyChanged(pool);
    this.controllers.hear(pool);
  }

  /** Its label says another pool, in one write. */
  move(name: string, pool: string): void {
    if (this.cluster.nodes.has(name)) this.cluster.relabel(name, labelsFor(pool));
  }

  cordon(name: string): void {
    const node = this.cluster.nodes.get(name);
    // `kubectl cordon` does nothing to a node that is cordoned already, by whomever.
    if (node === undefined || node.spec?.unschedulable === true) return;
    this.invariants.cordonedByPerson.add(name);
    this.cluster.changeNode(name, { unschedulable: true }, 'person');
  }

  uncordon(name: string): void {
    this.invariants.cordonedByPerson.delete(name);
    const node = this.cluster.nodes.get(name);
    if (node?.spec?.unschedulable !== true) return;
    this.cluster.changeNode(name, { unschedulable: false }, 'person');
    this.bind(name, { name: 'came-since', stuck: false });
  }

  /** A pod comes to a node, cordoned or not: the scheduler may have decided that before. */
  bind(node: string, pod: Omit<SimulatedPod, 'boundAt'>): void {
    this.pods.get(node)?.push({ ...pod, boundAt: this.clock.now });
  }

  deleteNode(name: string): void {
    if (!this.cluster.nodes.has(name) || this.cluster.nodes.size === 1) return;
    this.hosts.get(name)?.breakDown();
    this.hosts.delete(name);
    this.pods.delete(name);
    this.cluster.removeNode(name);
  }

  addNode(pool: string): void {
    this.cluster.addNode(this.machine(pool, this.configAt(pool, 0), false));
  }

  /** A machine on a config, and the Node that it has when it is ready. */
  machine(pool: string, config: SimulatedConfig, hasStuckPod: boolean): Node {
    const name = `node-${String((this.added += 1)).padStart(3, '0')}`;
    const host = new Host(name, config, this.clock, this.chance.fork(), {
      reboots: (machine, cause, run) => this.invariants.rebooted(machine, cause, run),
      reports: (machine, ready) => {
        this.cluster.reportStatus(machine.name, ready, machine.bootId);
        if (ready) this.whenReady?.(machine);
      },
      note: (who, what) => this.note(who, what),
    });
    this.hosts.set(name, host);
    const pods = Array.from({ length: this.added % 4 }, (_, i) => ({
      ...{ name: `pod-${i}`, stuck: false },
      boundAt: this.clock.now,
    }));
    const stuck = { name: 'stuck', stuck: true, boundAt: this.clock.now };
    this.pods.set(name, hasStuckPod ? [...pods, stuck] : pods);
    return readyNode(name, pool, config.name, host.bootId);
  }

  /** Registered again by its kubelet: another Node of the name, of which nothing is known. The machine runs on. */
  recreateNode(name: string, afterMs: number): void {
    const host = this.hosts.get(name);
    const known = this.cluster.nodes.get(name);
    if (host === undefined || known === undefined) return;
    this.pods.set(name, []);
    this.cluster.removeNode(name);
    this.clock.after(afterMs, () => {
      if (this.cluster.nodes.has(name) || !this.hosts.has(name)) return;
      registerNode(this, host, known);
    });
  }

  /** What PoolRollout says; undefined = there is none. */
  rollout(pool: string): PoolRolloutStatus | undefined {
    return this.cluster.poolRollouts.get(pool)?.status;
  }

  grants(pool: string): readonly Grant[] {
    return this.rollout(pool)?.grants ?? [];
  }

  /** Nodes whose update waits for its grant. */
  waiting(pool = WORKER): readonly string[] {
    const granted = new Set(this.grants(pool).map(({ run }) => run));
    return this.temporal
      .open()
      .filter(({ id, runId }) => id.startsWith(UPDATE) && !granted.has(runId))
      .filter((execution) => execution.underWay().steps.includes('takeOutOfService'))
      .map(({ id }) => nodeOf(id));
  }

  /** A person edits its status, past everybody. */
  editRollout(
    pool: string,
    change: (status: PoolRolloutStatus) => PoolRolloutStatus | undefined,
  ): void {
    const known = this.cluster.poolRollouts.get(pool);
    if (known?.status === undefined) return;
    const status = change(known.status);
    if (status === undefined) this.cluster.deleteRollout(known, 'person');
    else this.cluster.writeRollout(known, status, 'person');
  }

  // -- Inside -----------------------------------------------------------------------------------

  private configAt(pool: string, index: number): SimulatedConfig {
    const config = this.configsOf(pool)[index];
    if (config === undefined) throw new Error(`no config ${index} of ${pool}`);
    return config;
  }

  private whenPolled(queue: string, start: () => void): void {
    if (!queue.startsWith(HOST_QUEUE)) start();
    // A node that is gone has nobody behind its queue.
    else this.hosts.get(queue.slice(HOST_QUEUE.length))?.whenPolled(start);
  }

  private perform(attempt: Attempt): Promise<unknown> {
    const { queue, type, attempt: count, isLocal } = attempt.call;
    this.note(attempt.call.workflowId, `${type}${isLocal ? ' (local)' : ''} attempt ${count}`);
    const worker = queue.startsWith(HOST_QUEUE) ? undefined : this.anyWorker();
    worker?.takes(attempt);
    return this.faults.around(attempt, () => {
      if (worker !== undefined) return worker.perform(attempt);
      const host = this.hosts.get(queue.slice(HOST_QUEUE.length));
      if (host === undefined) return attempt.never();
      host.attempts.add(attempt);
      const work = {
        config: (name: string) => this.byName.get(name) ?? this.configAt(WORKER, 0),
        now: () => this.clock.now,
        plants: this.plants,
        strike: (step: string) => this.faults.strike(step),
      };
      return performOnHost(work, host, attempt).finally(() => host.attempts.delete(attempt));
    });
  }

  private killWorkerOf(attempt: Attempt): void {
    const worker = this.workers.find((one) => one.has(attempt));
    if (worker === undefined) attempt.die();
    else worker.die();
  }

  private anyWorker(): ClusterWorker {
    return this.onlyWorker ?? this.whichWorker.pick(this.workers);
  }

  private clusterWorld(wake: ClusterWorld['wake']): ClusterWorld {
    const { clock, chance, cluster, client, pods, plants, invariants } = this;
    return {
      ...{ clock, chance, cluster, client, pods, plants, wake },
      wrotePaused: (pool, paused) => {
        invariants.words.wrote(pool, paused);
      },
      configNames: () => [...this.byName.keys()],
    };
  }

  /** The product's, which folds what it is told while a call is under way. */
  private waker(): RolloutWaker {
    const workflow = {
      withDeadline: (_deadline: unknown, call: () => Promise<void>) => call(),
      signalWithStart: (_type: string, how: SentWithStart) => {
        const [input] = how.args;
        const [{ atLeast }] = how.signalArgs;
        return this.client.wake(input.pool, atLeast);
      },
    };
    return new RolloutWaker(workflow as unknown as WorkflowClient);
  }

  private rolloutWritten({ pool, before, after, by }: RolloutWrite): void {
    const isThere = this.cluster.poolRollouts.has(pool);
    const none = isThere ? 'created' : 'deleted';
    const shown = after === undefined ? none : describeRollout(after);
    this.note(pool, `poolrollout (${by}): ${shown}`);
    const old = before?.grants ?? [];
    const now = after?.grants ?? [];
    const isIn = (list: readonly Grant[], { node, run }: Grant): boolean =>
      list.some((one) => one.node === node && one.run === run);
    for (const grant of now.filter((one) => !isIn(old, one))) {
      if (by !== 'slipway') {
        this.invariants.grantMadeUp(grant);
        continue;
      }
      this.invariants.granted(pool, grant);
      this.granted.push(grant.node);
      const { atNextGrant } = this;
      this.atNextGrant = undefined;
      atNextGrant?.(grant.node, pool);
    }
    for (const grant of old.filter((one) => !isIn(now, one))) {
      if (by === 'slipway') this.invariants.grantEnded(pool, grant, now);
    }
  }

  private observer(): Observer {
    const { invariants } = this;
    return {
      taskFailed: (execution, why) =>
        invariants.break('workflow task', `${execution.id} (${execution.runId}): ${why}`),
      logged: (execution, level, message) => {
        this.note(execution.id, `${level}: ${message}`);
        if (message.startsWith('bug: ')) invariants.break('bug', `${execution.id}: ${message}`);
      },
      started: ({ id, runId }) => {
        this.note(id, `starts as ${runId}`);
        if (id.startsWith(UPDATE)) invariants.updateStarted(nodeOf(id));
      },
      closed: (execution) => {
        this.note(execution.id, `ends: ${execution.status} ${execution.failure?.message ?? ''}`);
        this.updateClosed(execution);
      },
    };
  }

  private updateClosed({ id, runId, status }: Execution): void {
    if (!id.startsWith(UPDATE) || status === 'terminated') return;
    this.invariants.updateClosed(nodeOf(id), runId, status === 'cancelled');
  }
}

function isCordon({ before, after }: NodeWrite): boolean {
  return after?.spec?.unschedulable === true && before?.spec?.unschedulable !== true;
}

/** Name of the node that this workflow updates. */
function nodeOf(workflowId: string): string {
  return workflowId.slice(UPDATE.length);
}

interface SentWithStart {
  readonly args: readonly [PoolRolloutInput];
  readonly signalArgs: readonly [{ readonly atLeast: SeenVersions }];
}
