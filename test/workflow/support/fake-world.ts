import { setTimeout as delay } from 'node:timers/promises';
import { heartbeat } from '@temporalio/activity';
import type { Client, WorkflowHandle } from '@temporalio/client';
import {
  completeChange,
  cordonChange,
  holdChange,
  refuseMoved,
  releaseChange,
} from '../../../activities/cluster/node-changes';
import {
  hasFallenOver,
  refuseToDrain,
  refuseToReboot,
} from '../../../activities/cluster/check-cordon';
import { movesOf } from '../../../activities/cluster/pool-moves';
import { refuseStranger } from '../../../activities/cluster/hold-node';
import { nodeDeleted } from '../../../activities/cluster/known-node';
import { RoomInPools, type TakeRoom } from '../../../activities/cluster/room-in-pool';
import { written } from '../../../activities/cluster/written-node';
import { createFindRunningUpdates } from '../../../activities/cluster/find-running-updates';
import type { DatedLookup, NodeChange, RunningUpdates } from '../../../activities/cluster/ports';
import { toFailure } from '../../../activities/failures';
import { fail } from '../../../core/errors';
import {
  ANNOTATION,
  CLUSTER_QUEUE,
  NodeState,
  poolRolloutId,
  updateNodeId,
} from '../../../core/names';
import type { UpdatePlan } from '../../../core/node/plan';
import { isReady } from '../../../core/node/predicates';
import type { Node } from '../../../core/node/types';
import { versionOf } from '../../../core/object-meta';
import type { MachineConfigPool, ResolvedPolicy } from '../../../core/pool/types';
import { DEFAULT_POLICY, observePool, selectFrom } from '../../../core/rollout';
import type {
  ClusterActivities,
  SelectNodesInput,
  SelectNodesResult,
} from '../../../workflows/contracts/cluster';
import type { ConfigReference, HostActivities } from '../../../workflows/contracts/host';
import {
  clusterChangedSignal,
  progressQuery,
  type RolloutProgress,
} from '../../../workflows/messages';
import { OpenUpdates } from '../../../process/temporal/open-updates';
import type { poolRollout } from '../../../workflows/pool-rollout';
import type { updateNode } from '../../../workflows/update-node';
import { aHost, fakeHostActivities, type FakeHost } from './fake-hosts';
import { gateFor, latch, orCancelled, type Gate, type Hook } from './gates';
import { aPlan } from './plans';

export interface WorldOptions {
  readonly nodes?: number;
  readonly maxUnavailable?: number | string;
  readonly policy?: Partial<ResolvedPolicy>;
  readonly plan?: UpdatePlan;
  /** The pool's rendered config; absent = `c2`, while every node has `c1`. */
  readonly config?: string | undefined;
  /** A second pool of the same cluster; nodes may be moved between the two. */
  readonly beside?: FakeWorld;
}

/** Longer than any step on a busy machine; shorter than the limit of a test. */
const PATIENCE_MS = 50_000;

/** State that all pools of one cluster share. */
interface Shared {
  readonly nodes: Map<string, Node>;
  readonly hosts: Map<string, FakeHost>;
  readonly pools: FakeWorld[];
  /** `<node>/<config>` that was verified. */
  readonly proofs: Set<string>;
  readonly drained: Set<string>;
  /** Nodes with a pod that was bound to them although they were cordoned. */
  readonly late: Set<string>;
  /** Nodes that a person has put back into service: updates must not go on there. */
  readonly putBack: Set<string>;
}

/** Steps of nodes that have a slot. */
const WITH_SLOT: ReadonlySet<string> = new Set([
  ...['cordonNode', 'drainNode', 'applyUpdate', 'performServiceActions', 'armReboot'],
  ...['verifyUpdate', 'awaitNodeReady', 'commitUpdate', 'completeNode'],
]);

interface Step {
  readonly step: string;
  readonly node: string;
}

/** Short waits, so that tests that reach them end soon. */
const QUICK_POLICY: ResolvedPolicy = {
  ...DEFAULT_POLICY,
  canaryNodes: 0,
  failureThreshold: '100%',
  drain: { timeoutSeconds: 30, onTimeout: 'RetryLater' },
  rebootTimeoutSeconds: 20,
  readySeconds: 0,
  reconnectSeconds: 20,
};

/**
 * A pool with its nodes and machines, in memory. Nodes have the state that Kubernetes would show, changed by the
 * functions of the real activities. An independent check of the promises fills `violations`, which must be empty
 * at the end.
 */
export class FakeWorld {
  readonly violations: string[] = [];
  readonly steps: Step[] = [];
  readonly rolloutId: string;
  exists = true;
  /** No node has pods to drain, and the cordon reports that. */
  withoutPods = false;
  config: string | undefined;
  maxUnavailable: number | string;
  policy: ResolvedPolicy;
  paused = false;
  pausedReason: string | undefined;
  cancelledConfig: string | undefined;
  startedConfig: string | undefined;
  /** Most nodes that were unavailable at once. */
  mostUnavailable = 0;
  private readonly shared: Shared;
  private readonly plans = new Map<string, UpdatePlan>();
  private readonly gates: Gate[] = [];
  private hooks: Hook[] = [];
  /** Resolves when the first node is cordoned; undefined = nothing waits for that. */
  private firstTaken: ReturnType<typeof latch> | undefined;
  private frozen: readonly Node[] | undefined;
  private watchers: (() => void)[] = [];
  private version = 1;

  constructor(
    readonly pool: string,
    private readonly client: Client,
    options: WorldOptions,
  ) {
    this.shared = options.beside?.shared ?? {
      ...{ nodes: new Map(), hosts: new Map(), pools: [] },
      ...{ proofs: new Set(), drained: new Set(), late: new Set(), putBack: new Set() },
    };
    this.shared.pools.push(this);
    this.rolloutId = poolRolloutId(pool);
    this.config = 'config' in options ? options.config : 'c2';
    this.maxUnavailable = options.maxUnavailable ?? 1;
    this.policy = { ...QUICK_POLICY, ...options.policy };
    this.defaultPlan = options.plan ?? aPlan();
    for (let i = 1; i <= (options.nodes ?? 3); i += 1) this.addNode(`${pool}-n${i}`);
  }

  defaultPlan: UpdatePlan;

  // -- For tests ------------------------------------------------------------------------------

  nodeNames(): readonly string[] {
    return this.members().map(({ metadata }) => metadata.name);
  }

  name(index: number): string {
    return `${this.pool}-n${index}`;
  }

  node(name: string): Node {
    const node = this.shared.nodes.get(name);
    if (node === undefined) throw new Error(`no node ${name}`);
    return node;
  }

  host(name: string): FakeHost {
    const host = this.shared.hosts.get(name);
    if (host === undefined) throw new Error(`no host ${name}`);
    return host;
  }

  plan(node: string, plan: UpdatePlan): void {
    this.plans.set(node, plan);
  }

  planFor(node: string): UpdatePlan {
    return this.plans.get(node) ?? this.defaultPlan;
  }

  /**
   * Stops every activity of this name (on this node) until the gate is opened. For the first node, the others are
   * prepared only after it has its slot: otherwise the node that is prepared first gets it.
   */
  hold(step: string, node?: string): Gate {
    const isTaken = this.stepsOf(this.name(1)).includes('cordonNode');
    if (node === this.name(1) && WITH_SLOT.has(step) && !isTaken) this.firstTaken ??= latch();
    const { gate, hook } = gateFor(step, node);
    this.hooks.push(hook);
    this.gates.push(gate);
    return {
      reached: gate.reached,
      open: () => {
        this.hooks = this.hooks.filter((other) => other !== hook);
        gate.open();
      },
    };
  }

  /** Makes an activity fail with a catalogue name, which decides whether it is retried. */
  failWith(
    step: string,
    node: string | undefined,
    name: string,
    message: string,
    times?: number,
  ): void {
    this.hooks.push({
      step,
      ...(node === undefined ? {} : { node }),
      ...(times === undefined ? {} : { times }),
      act: () => {
        throw toFailure(Object.assign(new Error(message), { name }), 1);
      },
    });
  }

  healAll(): void {
    this.hooks = [];
    this.firstTaken?.resolve();
  }

  releaseAll(): void {
    this.hooks = [];
    this.firstTaken?.resolve();
    for (const gate of this.gates) gate.open();
  }

  /** From now on selections see the nodes as they are now. */
  freezeView(): void {
    this.frozen = this.members();
  }

  thawView(): void {
    this.frozen = undefined;
  }

  /** A change of a Node by a person or by the cluster. */
  changeNode(name: string, change: NodeChange & { readonly ready?: boolean }): void {
    if (change.unschedulable === false) this.shared.putBack.add(name);
    this.write(name, change);
    this.notify();
  }

  /** The scheduler had chosen the node before it was cordoned. */
  bindLate(name: string): void {
    this.shared.late.add(name);
  }

  /** A machine joins after its first boot; replaces an earlier one of the same name. */
  join(name: string, config: string): void {
    if (!this.shared.hosts.has(name)) throw new Error(`no worker runs for ${name}`);
    this.addNode(name, config);
    this.notify();
  }

  /** Deletes the Node; its machine may go on running. */
  deleteNode(name: string): void {
    this.shared.nodes.delete(name);
    this.notify();
  }

  /** Changes the label by which pools select the node. */
  moveNode(name: string, to: FakeWorld): void {
    const node = this.node(name);
    const labels = { ...node.metadata.labels, pool: to.pool };
    this.shared.nodes.set(name, {
      ...node,
      metadata: { ...node.metadata, labels, resourceVersion: String((this.version += 1)) },
    });
    for (const pool of this.shared.pools) pool.notify();
  }

  /** Replaces all nodes by one whose host worker does not run. */
  addNodeWithoutHost(): string {
    this.shared.nodes.clear();
    const name = `${this.pool}-nobody`;
    this.addNode(name);
    return name;
  }

  /** Resolves once the condition holds; checked after every change of the world. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) {
      const changed = latch();
      this.watchers.push(changed.resolve);
      await changed.promise;
    }
  }

  stepsOf(node: string): readonly string[] {
    return this.steps.filter((taken) => taken.node === node).map(({ step }) => step);
  }

  cordoned(): readonly string[] {
    return this.members()
      .filter(({ spec }) => spec?.unschedulable === true)
      .map(({ metadata }) => metadata.name);
  }

  annotation(name: string, key: string): string | undefined {
    return this.node(name).metadata.annotations?.[key];
  }

  updatedNodes(): readonly string[] {
    return this.nodeNames().filter(
      (name) =>
        this.annotation(name, ANNOTATION.CURRENT_CONFIG) === this.config &&
        this.annotation(name, ANNOTATION.STATE) === NodeState.DONE,
    );
  }

  async startRollout(): Promise<WorkflowHandle<typeof poolRollout>> {
    return this.client.workflow.start<typeof poolRollout>('poolRollout', {
      workflowId: this.rolloutId,
      taskQueue: CLUSTER_QUEUE,
      args: [{ pool: this.pool }],
    });
  }

  rollout(): WorkflowHandle<typeof poolRollout> {
    return this.client.workflow.getHandle<typeof poolRollout>(this.rolloutId);
  }

  update(node: string): WorkflowHandle<typeof updateNode> {
    return this.client.workflow.getHandle<typeof updateNode>(updateNodeId(node));
  }

  progress(): Promise<RolloutProgress> {
    return this.rollout().query(progressQuery);
  }

  /** Queries the rollout until its progress is as expected; fails with the last progress. */
  async progressUntil(condition: (progress: RolloutProgress) => boolean): Promise<RolloutProgress> {
    const deadline = Date.now() + PATIENCE_MS;
    for (;;) {
      const progress = await this.progress();
      if (condition(progress)) return progress;
      if (Date.now() > deadline) throw new Error(`not so: ${JSON.stringify(progress)}`);
      await delay(50);
    }
  }

  async tell(reason: string): Promise<void> {
    await this.rollout().signal(clusterChangedSignal, { reason });
  }

  /** Nodes that need a person: with a cordon of ours, or a host unlike its record. */
  leftovers(): readonly string[] {
    const cordons = this.members()
      .filter((node) => node.metadata.annotations?.[ANNOTATION.CORDONED_BY] !== undefined)
      .map(({ metadata }) => `${metadata.name} is still cordoned by us`);
    const hosts = this.nodeNames()
      .filter((name) => this.host(name).config !== this.annotation(name, ANNOTATION.CURRENT_CONFIG))
      .map((name) => `${name}: host is on ${this.host(name).config ?? 'nothing'}`);
    const staged = this.nodeNames()
      .filter(
        (name) => this.host(name).staged !== undefined || this.host(name).applied !== undefined,
      )
      .map((name) => `${name}: something is left on the host`);
    return [...cordons, ...hosts, ...staged];
  }

  // -- For the fakes --------------------------------------------------------------------------

  violate(what: string): void {
    this.violations.push(what);
  }

  /** Records a step and runs the test's hook for it. */
  async step(step: string, node: string): Promise<void> {
    this.steps.push({ step, node });
    this.notify();
    const isFirst = node === this.name(1);
    if (isFirst && step === 'cordonNode') this.firstTaken?.resolve();
    if (!isFirst && step === 'prepareUpdate' && this.firstTaken !== undefined) {
      await orCancelled(this.firstTaken.promise);
    }
    for (const hook of [...this.hooks]) {
      if (hook.step !== step || (hook.node !== undefined && hook.node !== node)) continue;
      if (hook.times !== undefined) {
        if (hook.times === 0) continue;
        hook.times -= 1;
      }
      await hook.act();
    }
  }

  expectMayDisturb(name: string, config: string): void {
    const { drain } = this.planFor(name);
    const node = this.node(name);
    if (this.annotation(name, ANNOTATION.DESIRED_CONFIG) !== config) {
      this.violate(`${name} was changed without being targeted`);
    }
    if (drain && (node.spec?.unschedulable !== true || !this.shared.drained.has(name))) {
      this.violate(`${name} was changed without cordon and drain`);
    }
    if (
      node.spec?.unschedulable === true &&
      this.annotation(name, ANNOTATION.CORDONED_BY) === undefined
    ) {
      this.violate(`${name} was changed under a person's cordon`);
    }
  }

  verified(node: string, config: string): void {
    this.shared.proofs.add(`${node}/${config}`);
  }

  reboot(name: string): void {
    const host = this.host(name);
    if (isReady(this.node(name)) && this.shared.late.has(name)) {
      this.violate(`${name} was rebooted with a pod that came late`);
    }
    this.write(name, { ready: false });
    host.armed = false;
    host.boots += 1;
    host.rebooted = host.applied !== undefined;
    this.write(name, { ready: true });
    this.notify();
  }

  hostActivities(): HostActivities {
    return fakeHostActivities(this);
  }

  clusterActivities(): ClusterActivities {
    const change = async (
      step: string,
      input: { readonly node: string },
      decide: (node: Node) => NodeChange | undefined,
    ): Promise<Node> => {
      await this.step(step, input.node);
      let decided: NodeChange | undefined;
      try {
        if (!this.shared.nodes.has(input.node)) throw nodeDeleted(input.node);
        decided = decide(this.node(input.node));
      } catch (error) {
        throw toFailure(error, 1);
      }
      if (decided !== undefined) this.write(input.node, decided);
      this.notify();
      return this.node(input.node);
    };
    return {
      selectNodes: async (input) => this.select(input),
      cordonNode: async (input) => {
        const write = (takeRoom: TakeRoom): Promise<Node> =>
          change('cordonNode', input, (known) => {
            refuseMoved(known, input, this.poolObjects());
            const wanted = cordonChange(known, input);
            if (wanted !== undefined) takeRoom(known);
            return wanted;
          });
        // Every attempt counts as that of another worker, which does not know the others' cordons.
        const node = await (input.repair === true
          ? write(() => undefined)
          : this.room().whileThereIs(input, write));
        this.shared.drained.delete(input.node);
        const cordoned = node.metadata.annotations?.[ANNOTATION.CORDONED_BY] !== undefined;
        if (!this.withoutPods || input.drain === undefined) return { cordoned };
        this.shared.drained.add(input.node);
        return { cordoned, drained: { evicted: 0, left: 1 } };
      },
      drainNode: async (input) => {
        heartbeat({ evicted: 0, remaining: [], remainingCount: 0 });
        await this.step('drainNode', input.node);
        try {
          refuseToDrain(this.node(input.node), input);
        } catch (error) {
          throw toFailure(error, 1);
        }
        this.shared.drained.add(input.node);
        this.shared.late.delete(input.node);
        return { evicted: 3, left: 1 };
      },
      checkCordon: async (input) => {
        await this.step('checkCordon', input.node);
        const node = this.node(input.node);
        try {
          refuseToReboot(node, input);
        } catch (error) {
          throw toFailure(error, 1);
        }
        return { isEmpty: hasFallenOver(node, input) || !this.shared.late.has(input.node) };
      },
      reportNodePhase: (input) => this.step(`report ${input.phase}`, input.node),
      awaitNodeReady: async (input) => {
        await this.step('awaitNodeReady', input.node);
        const expected = input.bootId;
        const actual = `${input.node}-boot-${this.host(input.node).boots}`;
        if (expected !== undefined && expected !== actual) this.violate(`${input.node}: old boot`);
      },
      completeNode: async (input) => {
        const proven = this.shared.proofs.has(`${input.node}/${input.config}`);
        if (!proven && this.host(input.node).config !== input.config) {
          this.violate(`${input.node} was completed without proof`);
        }
        return written(
          await change('completeNode', input, (known) => completeChange(known, input)),
        );
      },
      releaseNode: async (input) => {
        if (!this.shared.nodes.has(input.node)) return undefined;
        return written(await change('releaseNode', input, (known) => releaseChange(known, input)));
      },
      holdNode: async ({ node, pool, config, reason }) => {
        const held = await change('holdNode', { node }, (known) => {
          refuseStranger(known, pool, this.poolObjects());
          return holdChange(known, config, reason);
        });
        return written(held);
      },
      setPoolPaused: async ({ paused, reason, ends }) => {
        await this.step('setPoolPaused', '');
        if (!paused && this.paused && ends !== undefined && ends.reason !== this.pausedReason) {
          throw toFailure(fail('RefusedRequest', 'it is paused for another reason since'), 1);
        }
        this.paused = paused;
        this.pausedReason = reason;
        this.notify();
      },
      markRolloutCancelled: async ({ config, ofPool }) => {
        await this.step('markRolloutCancelled', '');
        this.cancelledConfig = ofPool === true ? this.config : config;
        if (this.cancelledConfig !== undefined) this.startedConfig = undefined;
        this.notify();
      },
      markRolloutStarted: async ({ config }) => {
        await this.step('markRolloutStarted', '');
        this.startedConfig = config;
        this.notify();
      },
      findRunningUpdates: async (input) => {
        await this.step('findRunningUpdates', '');
        return this.findRunning(input);
      },
    };
  }

  private async select(input: SelectNodesInput): Promise<SelectNodesResult> {
    await this.step('selectNodes', '');
    const { remembered = [] } = input;
    const { departed, returned } = await movesOf(this.ports(), this.pool, remembered);
    const left = departed.length === 0 ? {} : { departed };
    if (!this.exists) return { exists: false, ...left };
    const nodes = this.frozen ?? this.members();
    const seen = observePool({ ...input, pool: this.poolObject(), nodes });
    const selected = selectFrom(seen, { ...input, canaryNodes: this.policy.canaryNodes });
    const names = selected.candidates.flatMap(({ currentConfig }) => currentConfig ?? []);
    return {
      exists: true,
      ...selected,
      ...(seen.target === undefined ? {} : { config: reference(seen.target) }),
      policy: this.policy,
      disruptionPolicies: {},
      versions: { nodes: Math.max(0, ...nodes.map(versionOf)), pools: 0, policies: 0 },
      ...(this.cancelledConfig === undefined ? {} : { cancelledConfig: this.cancelledConfig }),
      ...(this.startedConfig === undefined ? {} : { startedConfig: this.startedConfig }),
      ...left,
      ...(returned.length === 0 ? {} : { returned }),
      digests: Object.fromEntries(names.map((name) => [name, reference(name).digest])),
    };
  }

  /** A real server, whose visibility is empty. */
  private readonly updates: RunningUpdates = {
    isRunning: (node) => new OpenUpdates(this.client).isRunning(node),
    isOpen: (node, runId) => new OpenUpdates(this.client).isOpen(node, runId),
    ofPool: () => Promise.resolve([]),
  };

  /** The real activity. */
  private readonly findRunning = createFindRunningUpdates({
    view: {
      nodes: lookup(() => [...this.shared.nodes.values()]),
      pools: lookup(() => this.poolObjects()),
    },
    updates: this.updates,
  });

  /** Ports of the check for nodes that have left; server and cache agree. */
  private ports(): Parameters<typeof movesOf>[0] {
    return {
      view: {
        nodes: lookup(() => [...this.shared.nodes.values()]),
        pools: lookup(() => this.poolObjects()),
      },
      nodes: {
        change: () => Promise.reject(new Error('looking writes nothing')),
        read: (name) =>
          this.shared.nodes.has(name)
            ? Promise.resolve(this.node(name))
            : Promise.reject(fail('ObjectNotFound', `no node ${name}`)),
        refresh: () => Promise.reject(new Error('no watch is ever silent here')),
      },
      run: () => {
        throw new Error('looking logs nothing here');
      },
    };
  }

  private members(): readonly Node[] {
    return [...this.shared.nodes.values()].filter(
      ({ metadata }) => metadata.labels?.['pool'] === this.pool,
    );
  }

  /** Uses the cache of the selections, old or not. */
  private room(): RoomInPools {
    const { view, nodes } = this.ports();
    const shown = lookup(() => this.frozen ?? [...this.shared.nodes.values()]);
    return new RoomInPools({ view: { ...view, nodes: shown }, nodes, updates: this.updates });
  }

  private poolObjects(): readonly MachineConfigPool[] {
    return this.shared.pools.map((world) => world.poolObject());
  }

  private poolObject(): MachineConfigPool {
    return {
      metadata: {
        name: this.pool,
        ...(this.pausedReason === undefined
          ? {}
          : { annotations: { [ANNOTATION.PAUSED_REASON]: this.pausedReason } }),
      },
      spec: {
        nodeSelector: { matchLabels: { pool: this.pool } },
        maxUnavailable: this.maxUnavailable,
        paused: this.paused,
        ...(this.config === undefined ? {} : { configuration: { name: this.config } }),
      },
    };
  }

  addNode(name: string, config = 'c1'): void {
    this.shared.hosts.set(name, aHost(config));
    this.shared.nodes.set(name, {
      metadata: {
        name,
        uid: `uid-${(this.version += 1)}`,
        labels: { pool: this.pool },
        creationTimestamp: `2026-01-01T00:00:${String(this.shared.nodes.size).padStart(2, '0')}Z`,
        annotations: {
          [ANNOTATION.CURRENT_CONFIG]: config,
          [ANNOTATION.DESIRED_CONFIG]: config,
          [ANNOTATION.STATE]: NodeState.DONE,
        },
      },
      spec: {},
      status: { conditions: [{ type: 'Ready', status: 'True' }] },
    });
  }

  private write(name: string, change: NodeChange & { readonly ready?: boolean }): void {
    // Nothing observes a machine whose Node is deleted.
    if (!this.shared.nodes.has(name)) return;
    const pools = this.shared.pools.map((world) => ({ world, before: world.unavailable() }));
    const node = this.node(name);
    const annotations = { ...node.metadata.annotations };
    for (const [key, value] of Object.entries(change.annotations ?? {})) {
      if (value === null) delete annotations[key];
      else annotations[key] = value;
    }
    this.shared.nodes.set(name, {
      metadata: { ...node.metadata, annotations, resourceVersion: String((this.version += 1)) },
      spec: {
        ...node.spec,
        ...(change.unschedulable === undefined ? {} : { unschedulable: change.unschedulable }),
        ...(change.taints === undefined ? {} : { taints: change.taints }),
      },
      status:
        change.ready === undefined
          ? (node.status ?? {})
          : { conditions: [{ type: 'Ready', status: change.ready ? 'True' : 'False' }] },
    });
    for (const { world, before } of pools) world.observe(before, change.annotations !== undefined);
  }

  /** @param byUs - false = by a person or by the machine itself, which may do anything */
  private observe(before: readonly string[], byUs: boolean): void {
    const after = this.unavailable();
    this.mostUnavailable = Math.max(this.mostUnavailable, after.length);
    const added = after.filter((node) => !before.includes(node));
    const limit = Number(this.maxUnavailable);
    if (added.length > 0 && after.length > limit && byUs) {
      this.violate(
        `${after.length} nodes unavailable, at most ${limit} allowed: ${after.join(', ')}`,
      );
    }
  }

  /** Counted without the product's own functions: this is the observer. */
  private unavailable(): readonly string[] {
    return this.members()
      .filter(({ spec, status, metadata }) => {
        const ready = status?.conditions?.some(
          (condition) => condition.type === 'Ready' && condition.status === 'True',
        );
        const working = metadata.annotations?.[ANNOTATION.STATE] === 'Working';
        const isAtWork = working && !this.shared.putBack.has(metadata.name);
        return spec?.unschedulable === true || ready !== true || isAtWork;
      })
      .map(({ metadata }) => metadata.name);
  }

  private notify(): void {
    const watchers = this.watchers;
    this.watchers = [];
    for (const watcher of watchers) watcher();
  }
}

function lookup<T extends { readonly metadata: { readonly name: string } }>(
  list: () => readonly T[],
): DatedLookup<T> {
  return {
    synced: Promise.resolve(),
    newest: 0,
    silentMs: 0,
    reached: () => Promise.resolve(true),
    list,
    get: (name) => list().find(({ metadata }) => metadata.name === name),
    subscribe: () => () => undefined,
  };
}

function reference(name: string): ConfigReference {
  return { name, digest: `digest-of-${name}` };
}
