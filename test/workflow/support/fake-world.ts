import { heartbeat } from '@temporalio/activity';
import type { Client, WorkflowHandle } from '@temporalio/client';
import { ActivityFailure, ApplicationFailure } from '@temporalio/common';
import {
  hasFallenOver,
  refuseToDrain,
  refuseToReboot,
} from '../../../activities/cluster/check-cordon';
import { nodeDeleted, refuseAnotherNode } from '../../../activities/cluster/known-node';
import {
  completeChange,
  cordonChange,
  releaseChange,
} from '../../../activities/cluster/node-changes';
import type { ClusterPorts, DatedLookup, NodeChange } from '../../../activities/cluster/ports';
import { refuseUnwanted } from '../../../activities/cluster/unwanted';
import { createWhyCancelled } from '../../../activities/cluster/why-cancelled';
import { toFailure } from '../../../activities/failures';
import { fail, messageOf } from '../../../core/errors';
import { ANNOTATION, NodeState, updateNodeId } from '../../../core/names';
import type { UpdatePlan } from '../../../core/node/plan';
import { isReady } from '../../../core/node/predicates';
import type { Node } from '../../../core/node/types';
import type { MachineConfigPool, ResolvedPolicy } from '../../../core/pool/types';
import { DEFAULT_POLICY } from '../../../core/rollout';
import { NodeUpdates } from '../../../process/temporal/node-updates';
import type {
  AwaitReturnInput,
  ClusterActivities,
  CordonedNode,
  NodeStep,
  ReleaseNodeInput,
  TakeOutInput,
} from '../../../workflows/contracts/cluster';
import type { ConfigReference, HandedActivities } from '../../../workflows/contracts/host';
import {
  statusQuery,
  type NodeReport,
  type NodeStatus,
  type NodeUpdateInput,
} from '../../../workflows/contracts/update';
import type { updateNode } from '../../../workflows/node/update-node';
import { aHost, fakeHostActivities, type FakeHost } from './fake-hosts';
import { gateFor, latch, type Gate, type Hook } from './gates';
import { aPlan } from './plans';

export interface WorldOptions {
  readonly nodes?: number;
  readonly policy?: Partial<ResolvedPolicy>;
  readonly plan?: UpdatePlan;
}

/** Of an update that is started; absent = to the config of the pool, on a node that is whole. */
type Start = Partial<Pick<NodeUpdateInput, 'found' | 'takesBack'>> & { readonly config?: string };

/** How an update ended. */
interface Ended {
  readonly outcome: string | undefined;
  /** As Temporal shows it. */
  readonly status: string;
  /** Only of an update that brought its node to the config. */
  readonly report?: NodeReport;
  /** Catalogue name. */
  readonly failure?: string;
  readonly reason?: string;
}

interface Step {
  readonly step: string;
  readonly node: string;
}

/** Short waits, so that tests that reach them end soon. */
const QUICK_POLICY: ResolvedPolicy = {
  ...DEFAULT_POLICY,
  drain: { timeoutSeconds: 30, onTimeout: 'RetryLater' },
  rebootTimeoutSeconds: 20,
  readySeconds: 0,
  reconnectSeconds: 20,
};

/**
 * The nodes of a pool and their machines, in memory. Nodes have the state that Kubernetes would show, changed by the
 * functions of the real activities. An independent check of the promises fills `violations`, which must be empty
 * at the end.
 */
export class FakeWorld {
  readonly violations: string[] = [];
  readonly steps: Step[] = [];
  readonly releases: ReleaseNodeInput[] = [];
  readonly awaited: AwaitReturnInput[] = [];
  readonly policy: ResolvedPolicy;
  /** No node has pods to drain, and the cordon reports that. */
  withoutPods = false;
  private readonly nodes = new Map<string, Node>();
  private readonly hosts = new Map<string, FakeHost>();
  private readonly plan: UpdatePlan;
  private pools: readonly MachineConfigPool[];
  /** `<node>/<config>` that was verified. */
  private readonly proofs = new Set<string>();
  private readonly drained = new Set<string>();
  /** Nodes with a pod that was bound to them although they were cordoned. */
  private readonly late = new Set<string>();
  /** By node: the UID for which its last update was started. */
  private readonly begunFor = new Map<string, string>();
  private readonly gates: Gate[] = [];
  private hooks: Hook[] = [];
  private watchers: (() => void)[] = [];
  private version = 1;

  constructor(
    readonly pool: string,
    private readonly client: Client,
    options: WorldOptions,
  ) {
    this.policy = { ...QUICK_POLICY, ...options.policy };
    this.plan = options.plan ?? aPlan();
    this.pools = [aPool(pool), aPool(this.otherPool)];
    for (let i = 1; i <= (options.nodes ?? 1); i += 1) this.addNode(this.name(i));
  }

  // -- For tests ------------------------------------------------------------------------------

  get otherPool(): string {
    return `${this.pool}-other`;
  }

  nodeNames(): readonly string[] {
    return [...this.nodes.keys()];
  }

  name(index: number): string {
    return `${this.pool}-n${index}`;
  }

  node(name: string): Node {
    const node = this.nodes.get(name);
    if (node === undefined) throw new Error(`no node ${name}`);
    return node;
  }

  host(name: string): FakeHost {
    const host = this.hosts.get(name);
    if (host === undefined) throw new Error(`no host ${name}`);
    return host;
  }

  planOf(): UpdatePlan {
    return this.plan;
  }

  /** Stops every activity of this name (on this node) until the gate is opened. */
  hold(step: string, node?: string): Gate {
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
  failWith(step: string, node: string, name: string, message: string, times?: number): void {
    this.hooks.push({
      ...{ step, node },
      ...(times === undefined ? {} : { times }),
      act: () => {
        throw toFailure(Object.assign(new Error(message), { name }), 1);
      },
    });
  }

  /** Lets everything pass that is held or fails. */
  releaseAll(): void {
    this.hooks = [];
    for (const gate of this.gates) gate.open();
  }

  /** A change of a Node by a person or by the cluster. */
  changeNode(name: string, change: NodeChange & { readonly ready?: boolean }): void {
    this.write(name, change);
    this.notify();
  }

  /** A person skips the node, or cancels its update. */
  holdNode(name: string, config = 'c2'): void {
    const annotations = { [ANNOTATION.HELD_FOR]: config, [ANNOTATION.HELD_REASON]: 'not this one' };
    this.changeNode(name, { annotations });
  }

  /** The scheduler had chosen the node before it was cordoned. */
  bindLate(name: string): void {
    this.late.add(name);
  }

  /** Deletes the Node; its machine may go on running. */
  deleteNode(name: string): void {
    this.nodes.delete(name);
    this.notify();
  }

  /** Another Node takes the name. */
  replaceNode(name: string): void {
    this.addNode(name);
    this.notify();
  }

  /** Changes the label by which pools select the node. */
  moveNode(name: string): void {
    const node = this.node(name);
    const labels = { ...node.metadata.labels, pool: this.otherPool };
    this.nodes.set(name, { ...node, metadata: { ...node.metadata, labels } });
    this.notify();
  }

  /** The pool gets another config. */
  retarget(config: string): void {
    this.pools = [aPool(this.pool, config), aPool(this.otherPool)];
    this.notify();
  }

  /** A person cancels the rollout of the pool. */
  cancelRollout(): void {
    const annotations = { [ANNOTATION.ROLLOUT_CANCELLED]: 'c2' };
    this.pools = [aPool(this.pool, 'c2', annotations), aPool(this.otherPool)];
  }

  deletePool(): void {
    this.pools = [aPool(this.otherPool)];
  }

  /** A node whose host worker does not run. */
  addNodeWithoutHost(): string {
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
    return [...this.nodes.values()]
      .filter(({ spec }) => spec?.unschedulable === true)
      .map(({ metadata }) => metadata.name);
  }

  annotation(name: string, key: string): string | undefined {
    return this.node(name).metadata.annotations?.[key];
  }

  updatedNodes(): readonly string[] {
    return this.nodeNames().filter(
      (name) =>
        this.annotation(name, ANNOTATION.CURRENT_CONFIG) === 'c2' &&
        this.annotation(name, ANNOTATION.STATE) === NodeState.DONE,
    );
  }

  /** As a step of the rollout does. */
  async startUpdate(node: string, start: Start = {}): Promise<WorkflowHandle<typeof updateNode>> {
    const { config = 'c2', found = 'whole', takesBack } = start;
    const current = this.annotation(node, ANNOTATION.CURRENT_CONFIG);
    const { uid = '' } = this.node(node).metadata;
    this.begunFor.set(node, uid);
    await new NodeUpdates(this.client).start({
      ...{ node, uid, pool: this.pool, config: reference(config), found },
      ...{ policy: this.policy, disruptionPolicies: {} },
      ...{ poolUid: `uid-${this.pool}`, poolGeneration: 1 },
      ...(current === undefined ? {} : { currentConfig: reference(current) }),
      ...(takesBack === undefined ? {} : { takesBack }),
    });
    return this.update(node);
  }

  update(node: string): WorkflowHandle<typeof updateNode> {
    return this.client.workflow.getHandle<typeof updateNode>(updateNodeId(node));
  }

  status(node: string): Promise<NodeStatus> {
    return this.update(node).query(statusQuery);
  }

  /** Starts an update, and waits for its end. */
  async run(node: string, start: Start = {}): Promise<Ended> {
    await this.startUpdate(node, start);
    return this.ended(node);
  }

  /** How the last update of the node ended. Its Node has to say so. */
  async ended(node: string): Promise<Ended> {
    const handle = this.update(node);
    const end = await handle.result().then(
      (report): Partial<Ended> => ({ report }),
      (error: unknown) => causeOf(error),
    );
    const { runId, status } = await handle.describe();
    this.expectOver(node, runId);
    const outcome = status.name === 'CANCELLED' ? 'cancelled' : end.report?.outcome;
    return { outcome, status: status.name, ...end };
  }

  /** Nodes that need a person: with a cordon of ours, or a host unlike its record. */
  leftovers(): readonly string[] {
    const cordons = [...this.nodes.values()]
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
    const node = this.node(name);
    const isCordoned = node.spec?.unschedulable === true;
    this.proofs.delete(`${name}/${config}`);
    if (this.annotation(name, ANNOTATION.DESIRED_CONFIG) !== config) {
      this.violate(`${name} was changed without being targeted`);
    }
    if (this.plan.drain && !(isCordoned && this.drained.has(name))) {
      this.violate(`${name} was changed without cordon and drain`);
    }
    if (isCordoned && this.annotation(name, ANNOTATION.CORDONED_BY) === undefined) {
      this.violate(`${name} was changed under a person's cordon`);
    }
  }

  verified(node: string, config: string): void {
    this.proofs.add(`${node}/${config}`);
    this.notify();
  }

  reboot(name: string): void {
    const host = this.host(name);
    if (this.nodes.has(name) && isReady(this.node(name)) && this.late.has(name)) {
      this.violate(`${name} was rebooted with a pod that came late`);
    }
    this.write(name, { ready: false });
    host.armed = false;
    host.boots += 1;
    host.rebooted = host.applied !== undefined;
    this.write(name, { ready: true });
    this.notify();
  }

  hostActivities(): HandedActivities {
    return fakeHostActivities(this);
  }

  clusterActivities(): ClusterActivities {
    return {
      takeOutOfService: async (input) => {
        await this.grant(input);
        await this.step('cordon', input.node);
        const node = this.change(input, (known) => {
          refuseUnwanted(known, input, this.view.pools);
          return cordonChange(known, input);
        });
        return this.takenOut(node, input.drain !== undefined);
      },
      cordonAgain: async (input) => {
        await this.step('cordonAgain', input.node);
        const node = this.change(input, (known) => cordonChange(known, input));
        return this.takenOut(node, input.drain !== undefined);
      },
      drainNode: async (input) => {
        heartbeat({ evicted: 0, remaining: [], remainingCount: 0 });
        await this.step('drainNode', input.node);
        this.seen(input, (node) => {
          refuseToDrain(node, input);
        });
        this.drained.add(input.node);
        this.late.delete(input.node);
        return { evicted: 3, left: 1 };
      },
      checkCordon: async (input) => {
        await this.step('checkCordon', input.node);
        const node = this.seen(input, (known) => {
          refuseToReboot(known, input);
        });
        return { isEmpty: hasFallenOver(node, input) || !this.late.has(input.node) };
      },
      showRebooting: (input) => this.step('showRebooting', input.node),
      showGoingBack: (input) => this.step('showGoingBack', input.node),
      awaitReturn: async (input) => {
        this.awaited.push(input);
        await this.step('awaitReturn', input.node);
        this.seen(input);
        const expected = input.bootId;
        const bootId = `${input.node}-boot-${this.host(input.node).boots}`;
        if (expected !== undefined && expected !== bootId) this.violate(`${input.node}: old boot`);
      },
      completeNode: async (input) => {
        await this.step('completeNode', input.node);
        const proven = this.proofs.has(`${input.node}/${input.config}`);
        if (!proven && this.host(input.node).config !== input.config) {
          this.violate(`${input.node} was completed without proof`);
        }
        this.change(input, (known) => completeChange(known, input, new Date().toISOString()));
      },
      releaseNode: async (input) => {
        this.releases.push(input);
        await this.step('releaseNode', input.node);
        if (this.nodes.get(input.node)?.metadata.uid !== input.uid) return;
        this.change(input, (known) => releaseChange(known, input, new Date().toISOString()));
      },
      whyCancelled: async (input) => {
        await this.step('whyCancelled', input.node);
        return this.why(input);
      },
    };
  }

  /** At once, unless a test holds it. Meanwhile it hears what the real one hears. */
  private async grant(input: TakeOutInput): Promise<void> {
    heartbeat({ blocker: `waiting for a grant of poolrollout ${input.pool}` });
    const isUnwanted = (): boolean => {
      const node = this.nodes.get(input.node);
      try {
        if (node !== undefined) refuseUnwanted(node, input, this.view.pools);
        return node === undefined;
      } catch {
        return true;
      }
    };
    await Promise.race([this.step('takeOutOfService', input.node), this.until(isUnwanted)]);
  }

  private takenOut(node: Node, isLookedAt: boolean): CordonedNode {
    const { name, annotations = {} } = node.metadata;
    const cordoned = annotations[ANNOTATION.CORDONED_BY] !== undefined;
    this.drained.delete(name);
    if (!this.withoutPods || !isLookedAt) return { cordoned };
    this.drained.add(name);
    return { cordoned, drained: { evicted: 0, left: 1 } };
  }

  /** Decides on the Node, and writes it, in one go. */
  private change(input: NodeStep, decide: (node: Node) => NodeChange | undefined): Node {
    this.seen(input, (known) => {
      const decided = decide(known);
      if (decided !== undefined) this.write(input.node, decided);
    });
    this.notify();
    return this.node(input.node);
  }

  private seen(input: NodeStep, look: (node: Node) => void = () => undefined): Node {
    try {
      const node = this.nodes.get(input.node);
      if (node === undefined) throw nodeDeleted(input.node);
      refuseAnotherNode(node, input);
      look(node);
      return node;
    } catch (error) {
      throw toFailure(error, 1);
    }
  }

  private readonly view = {
    pools: lookup(() => this.pools),
  };

  /** The real activity. */
  private readonly why = createWhyCancelled({
    view: this.view,
    nodes: {
      ...({} as ClusterPorts['nodes']),
      read: (name) => found(name, this.nodes.get(name)),
    },
    pools: {
      change: async (name, decide) => {
        const pool = await found(name, this.view.pools.get(name));
        await decide(pool);
        return pool;
      },
    },
  });

  /** Every update that ends says so on its Node, whatever it did. */
  private expectOver(name: string, run: string): void {
    const { uid, annotations = {} } = this.nodes.get(name)?.metadata ?? {};
    if (uid === undefined || uid !== this.begunFor.get(name)) return;
    const mark = annotations[ANNOTATION.UPDATE_RUN] ?? 'nothing';
    if (mark.endsWith(`/${run}/over`)) return;
    this.violate(`the update of ${name} has ended, and its Node says ${mark}`);
  }

  private addNode(name: string): void {
    this.hosts.set(name, aHost('c1'));
    this.nodes.set(name, {
      metadata: {
        name,
        uid: `uid-${(this.version += 1)}`,
        labels: { pool: this.pool },
        annotations: {
          [ANNOTATION.CURRENT_CONFIG]: 'c1',
          [ANNOTATION.DESIRED_CONFIG]: 'c1',
          [ANNOTATION.STATE]: NodeState.DONE,
        },
      },
      spec: {},
      status: { conditions: [{ type: 'Ready', status: 'True' }] },
    });
  }

  private write(name: string, change: NodeChange & { readonly ready?: boolean }): void {
    // Nothing observes a machine whose Node is deleted.
    if (!this.nodes.has(name)) return;
    const node = this.node(name);
    const annotations = { ...node.metadata.annotations };
    for (const [key, value] of Object.entries(change.annotations ?? {})) {
      if (value === null) delete annotations[key];
      else annotations[key] = value;
    }
    this.nodes.set(name, {
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
  }

  private notify(): void {
    const watchers = this.watchers;
    this.watchers = [];
    for (const watcher of watchers) watcher();
  }
}

function aPool(
  name: string,
  config = 'c2',
  annotations: Readonly<Record<string, string>> = {},
): MachineConfigPool {
  return {
    metadata: { name, annotations },
    spec: { nodeSelector: { matchLabels: { pool: name } }, configuration: { name: config } },
  };
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

async function found<T>(name: string, object: T | undefined): Promise<T> {
  if (object === undefined) throw fail('ObjectNotFound', `${name} does not exist`);
  return Promise.resolve(object);
}

function causeOf(error: unknown): Partial<Ended> {
  const cause = error instanceof Error ? error.cause : undefined;
  const inner = cause instanceof ActivityFailure ? cause.cause : cause;
  const failure = inner instanceof ApplicationFailure ? inner.type : undefined;
  const [report] = inner instanceof ApplicationFailure ? (inner.details ?? []) : [];
  return {
    reason: messageOf(inner),
    ...(failure ? { failure } : {}),
    ...(report === undefined ? {} : { outcome: (report as NodeReport).outcome }),
  };
}

function reference(name: string): ConfigReference {
  return { name, digest: `digest-of-${name}` };
}
