/** I6: whoever says what it waits for says what is so, looked up in the world itself. */

import { poolRolloutId, updateNodeId } from '../../core/names';
import type { PoolRolloutStatus } from '../../core/rollout/pool-rollout';
import { isInService, lastRun, limitOf } from './outages';
import { falseOfUpdate, type SaidByUpdate } from './said-by-update';
import type { Execution } from './temporal/execution';
import { poolOfLabels } from './world/pools';
import type { World } from './world/world';

/** A blocker that is false for longer is reported. */
const FALSE_MS = 120_000;
const STATE = 'machineconfiguration.openshift.io/state';
const HELD = 'slipway.dev/held-for';
const CANCELLED = 'slipway.dev/rollout-cancelled';
const FAILED: readonly (string | undefined)[] = ['Degraded', 'Unreconcilable'];

export class Excuses {
  /** Since when each of them is false, by who says it. */
  private readonly since = new Map<string, ReadonlyMap<string, number>>();

  constructor(private readonly world: World) {}

  /** What a PoolRollout says while its rollout is open. */
  heardRollout(pool: string, said: PoolRolloutStatus): void {
    const id = poolRolloutId(pool);
    this.judge(id, id, [
      ...this.falseState(pool, said),
      ...this.falseLists(said),
      ...this.falseRoom(pool, said.blocker ?? ''),
    ]);
  }

  /** What an update says now. */
  heardUpdate(execution: Execution, said: SaidByUpdate): void {
    const node = execution.id.slice(updateNodeId('').length);
    const names = (this.world.pods.get(node) ?? []).map(({ name }) => name);
    const { isStruck, ...out } = execution.underWay();
    // A step that the weather has struck knows nothing of pods.
    const pods = isStruck ? undefined : names;
    const waits = execution.saidBy('takeOutOfService') as { readonly blocker?: string } | undefined;
    const pool = this.poolOf(node);
    const found = pool === undefined ? [] : this.falseRoom(pool, waits?.blocker ?? '');
    this.judge(execution.runId, execution.id, [...falseOfUpdate(said, { ...out, pods }), ...found]);
  }

  /** It is over: what the next one says is of its own. */
  forgetRollout(pool: string): void {
    this.since.delete(poolRolloutId(pool));
  }

  private falseState(
    pool: string,
    { state, failed, grants }: PoolRolloutStatus,
  ): readonly string[] {
    const { spec, metadata } = this.world.cluster.pool(pool);
    if (state === 'Paused' && spec.paused !== true) {
      return ['says that its pool is paused, and it is not'];
    }
    const isCancelled = metadata.annotations?.[CANCELLED] !== undefined;
    if (state === 'Cancelling' && !isCancelled && grants.length === 0) {
      return ['says that it is being cancelled, and it is not'];
    }
    if (state !== 'Halted' || failed.length > 0) return [];
    const isTried = [...this.world.cluster.nodes.values()].some(
      ({ metadata: { annotations = {} } }) => annotations['slipway.dev/retry-for'] !== undefined,
    );
    return isTried ? [] : ['says that it is halted, and names no node that failed'];
  }

  private falseLists({ failed, held }: PoolRolloutStatus): readonly string[] {
    const annotationsOf = (node: string) =>
      this.world.cluster.nodes.get(node)?.metadata.annotations ?? {};
    return [
      ...failed
        .filter(({ node }) => !FAILED.includes(annotationsOf(node)[STATE]))
        .map(({ node }) => `says that ${node} has failed, which shows no failure`),
      ...held
        .filter(({ node }) => annotationsOf(node)[HELD] === undefined)
        .map(({ node }) => `says that ${node} is held, and it is not`),
    ];
  }

  /** `maxUnavailable is 3; out of service: a, b (why) and 2 more`, or `2 nodes of at most 3 unavailable: a, b`. */
  private falseRoom(pool: string, blocker: string): readonly string[] {
    const plain = withoutReasons(blocker);
    const room =
      /(?:maxUnavailable is|of at most) (\d+)[^:]*(?:out of service|unavailable): ([^;]+)/.exec(
        plain,
      );
    if (room === null) return [];
    const [, limit, list = ''] = room;
    const members = [...this.world.cluster.nodes.values()].filter(
      (node) => poolOfLabels(node) === pool,
    );
    const real = limitOf(this.world.cluster.pool(pool).spec.maxUnavailable, members.length);
    const names = list
      .replace(/ and \d+ more$/, '')
      .split(/, | and /)
      .map((name) => name.trim());
    return [
      ...(Number(limit) === real ? [] : [`counts with ${limit}, and maxUnavailable is ${real}`]),
      ...names
        .filter((name) => !this.isOut(pool, name))
        .map((name) => `says that ${name} is out of service, which serves and has no grant`),
    ];
  }

  private isOut(pool: string, name: string): boolean {
    const node = this.world.cluster.nodes.get(name);
    if (node === undefined) return false;
    if (!isInService(node)) return true;
    const grant = this.world.grants(pool).find((one) => one.node === name);
    const last = lastRun(node);
    const isOver = last?.isOver === true && last.run === grant?.run;
    return grant !== undefined && !isOver;
  }

  private poolOf(name: string): string | undefined {
    const node = this.world.cluster.nodes.get(name);
    return node === undefined ? undefined : poolOfLabels(node);
  }

  private judge(key: string, who: string, found: readonly string[]): void {
    const { clock, invariants, cluster, client } = this.world;
    const known = this.since.get(key);
    // Whoever can look at nothing repeats what was so.
    const isAway = cluster.isAway || client.isAway;
    const since = new Map(
      found.map((what) => [what, isAway ? clock.now : (known?.get(what) ?? clock.now)]),
    );
    this.since.set(key, since);
    for (const [what, from] of since) {
      if (clock.now - from < FALSE_MS) continue;
      invariants.break('I6', `${who} ${what}, for ${(clock.now - from) / 1000} s`);
    }
  }
}

/** Reasons stand in parentheses, which may be nested. */
function withoutReasons(sentence: string): string {
  const shorter = sentence.replace(/ ?\([^()]*\)/g, '');
  return shorter === sentence ? sentence : withoutReasons(shorter);
}
