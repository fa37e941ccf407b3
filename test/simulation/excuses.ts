/** I6: whoever says what it waits for says what is so, looked up in the world itself. */

import { poolRolloutId, updateNodeId } from '../../core/names';
import { FALSE_MS, falseOfRollout, falseOfUpdate, type SaidByUpdate } from '../observer/excuses';
import type { RolloutProgress } from '../../workflows/messages';
import { isInService, limitOf } from './outages';
import type { Execution } from './temporal/execution';
import { poolOfLabels } from './world/pools';
import type { World } from './world/world';

export class Excuses {
  /** Since when each of them is false, by who says it. */
  private readonly since = new Map<string, ReadonlyMap<string, number>>();

  constructor(private readonly world: World) {}

  /** What a rollout says now. */
  heardRollout(pool: string, said: RolloutProgress): void {
    const { cluster, temporal } = this.world;
    const found = falseOfRollout(pool, said, {
      isOpen: (id) => temporal.isRunning(id),
      isStarting: (id) => temporal.find(poolRolloutId(pool))?.startingChildren.has(id) ?? false,
      isPaused: (name) => cluster.pool(name).spec.paused === true,
      node: (name) => {
        const node = cluster.nodes.get(name);
        if (node === undefined) return undefined;
        return { inService: isInService(node), annotations: node.metadata.annotations ?? {} };
      },
    });
    const members = [...cluster.nodes.values()].filter((node) => poolOfLabels(node) === pool);
    const limit = limitOf(cluster.pool(pool).spec.maxUnavailable, members.length);
    const isOther = said.state === 'Blocked' && said.maxUnavailable !== limit;
    const wrong = isOther
      ? [`counts with ${said.maxUnavailable} slots, and there are ${limit}`]
      : [];
    const id = poolRolloutId(pool);
    this.judge(id, id, [...found, ...wrong]);
  }

  /** What an update says now. */
  heardUpdate(execution: Execution, said: SaidByUpdate): void {
    const node = execution.id.slice(updateNodeId('').length);
    const names = (this.world.pods.get(node) ?? []).map(({ name }) => name);
    const { isStruck, ...out } = execution.underWay();
    // A step that the weather has struck knows nothing of pods.
    const pods = isStruck ? undefined : names;
    this.judge(execution.runId, execution.id, falseOfUpdate(said, { ...out, pods }));
  }

  /** It is over: what the next one says is of its own. */
  forgetRollout(pool: string): void {
    this.since.delete(poolRolloutId(pool));
  }

  private judge(key: string, who: string, found: readonly string[]): void {
    const { clock, invariants } = this.world;
    const known = this.since.get(key);
    const since = new Map(found.map((what) => [what, known?.get(what) ?? clock.now]));
    this.since.set(key, since);
    for (const [what, from] of since) {
      if (clock.now - from < FALSE_MS) continue;
      invariants.break('I6', `${who} ${what}, for ${(clock.now - from) / 1000} s`);
    }
  }
}
