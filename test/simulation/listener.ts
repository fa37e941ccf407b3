/** I6: every so often it is asked what everybody waits for, and looked up whether that is so. */

import { poolRolloutId, updateNodeId } from '../../core/names';
import type { NodeStatus } from '../../workflows/contracts/update';
import { Excuses } from './excuses';
import { SILENCE_MS } from './observer';
import type { Execution } from './temporal/execution';
import type { World } from './world/world';

const ROLLOUT = poolRolloutId('');
const UPDATE = updateNodeId('');

export class Listener {
  private readonly excuses: Excuses;
  /** When an update was seen without anything to do, and how long its history was. */
  private readonly idle = new Map<string, { readonly events: number; readonly at: number }>();
  /** By pool. */
  private readonly silentSince = new Map<
    string,
    { readonly picture: string; readonly at: number }
  >();

  constructor(private readonly world: World) {
    this.excuses = new Excuses(world);
  }

  begin(): void {
    this.world.clock.after(SILENCE_MS / 2, async () => {
      for (const execution of this.world.temporal.open()) {
        if (!execution.id.startsWith(ROLLOUT)) await this.lookAtUpdate(execution);
      }
      for (const pool of this.world.pools) this.lookAtRollout(pool);
      this.begin();
    });
  }

  private async lookAtUpdate(execution: Execution): Promise<void> {
    const { invariants, clock } = this.world;
    const { id, runId, events } = execution;
    const status = (await execution.query('status')) as NodeStatus | undefined;
    if (status !== undefined) this.excuses.heardUpdate(execution, status);
    const known = this.idle.get(runId);
    const { blocker, phase } = status ?? {};
    const isIdle = phase !== undefined && blocker === undefined;
    if (!isIdle || known?.events !== events) {
      this.idle.set(runId, { events, at: clock.now });
      return;
    }
    const waited = clock.now - known.at;
    if (waited <= SILENCE_MS) return;
    invariants.break('I6', `${id} waits silently in ${phase} for ${waited / 1000} s`);
  }

  private lookAtRollout(pool: string): void {
    const { invariants, clock, temporal, cluster, client } = this.world;
    const said = this.world.rollout(pool);
    if (said === undefined || !temporal.isRunning(poolRolloutId(pool))) {
      this.excuses.forgetRollout(pool);
      this.silentSince.delete(pool);
      return;
    }
    this.excuses.heardRollout(pool, said);
    const { state, blocker, done, grants } = said;
    const updates = temporal.open().filter(({ id }) => id.startsWith(UPDATE));
    // Temporal shows a step that is tried again, and why.
    const isStruck = temporal.find(poolRolloutId(pool))?.underWay().isStruck === true;
    const isAway = cluster.isAway || client.isAway;
    const isBusy = blocker !== undefined || updates.length > 0 || isAway || isStruck;
    const picture = JSON.stringify([done, grants.map(({ run }) => run)]);
    const known = this.silentSince.get(pool);
    if (isBusy || known?.picture !== picture) {
      if (isBusy) this.silentSince.delete(pool);
      else this.silentSince.set(pool, { picture, at: clock.now });
      return;
    }
    const waited = clock.now - known.at;
    if (waited <= SILENCE_MS) return;
    const seconds = waited / 1000;
    invariants.break(
      'I6',
      `the rollout of ${pool} says ${state} and waits silently for ${seconds} s`,
    );
  }
}
