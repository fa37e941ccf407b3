/** A cluster worker: the product's activities, on what this worker sees of the cluster. */

import { refuseToDrain } from '../../../activities/cluster/check-cordon';
import { createClusterActivities } from '../../../activities/cluster/cluster-activities';
import { nodeDeleted, refuseAnotherNode } from '../../../activities/cluster/known-node';
import { createStep } from '../../../activities/cluster/step/step';
import { fail } from '../../../core/errors';
import type { DrainNodeInput } from '../../../workflows/contracts/cluster';
import type { Attempt } from '../temporal/attempt';
import type { Picture } from './cluster';
import { portsFor, type ClusterWorld } from './cluster-ports';
import { inVirtualTime } from './virtual-timers';

/** A worker looks again this often; so do the real ones. */
const LOOK_MS = 3_000;

type Activities = Readonly<Record<string, (input: never) => Promise<unknown>>>;

export class ClusterWorker {
  private activities: Activities;
  private readonly attempts = new Set<Attempt>();

  constructor(
    private readonly world: ClusterWorld,
    readonly picture: Picture,
  ) {
    this.activities = this.started();
  }

  /** From here on it dies with the worker. */
  takes(attempt: Attempt): void {
    this.attempts.add(attempt);
    attempt.atEnd(() => this.attempts.delete(attempt));
  }

  has(attempt: Attempt): boolean {
    return this.attempts.has(attempt);
  }

  perform(attempt: Attempt): Promise<unknown> {
    const { type, input } = attempt.call;
    if (type === 'drainNode') return drain(this.world, attempt, input as DrainNodeInput);
    const activity = this.activities[type];
    if (activity === undefined) throw new Error(`there is no activity ${type}`);
    return inVirtualTime(attempt, this.world.clock, () => activity(input as never));
  }

  /** Its process ends, with all that it has in memory, and another one begins. */
  die(): void {
    for (const attempt of [...this.attempts]) attempt.die();
    this.activities = this.started();
  }

  private started(): Activities {
    const ports = portsFor(this.world, this.picture);
    const code = this.world.plants.code ?? { createClusterActivities, createStep };
    return { ...code.createClusterActivities(ports), step: code.createStep(ports) };
  }
}

async function drain(world: ClusterWorld, attempt: Attempt, input: DrainNodeInput) {
  const { cluster, clock, chance, plants } = world;
  const deadline = Date.parse(input.startedAt) + input.drain.timeoutSeconds * 1000;
  let evicted = 0;
  for (;;) {
    attempt.signal.throwIfAborted();
    if (!cluster.isAway) refuse(cluster, input);
    const pods = world.pods.get(input.node) ?? [];
    if (pods.length === 0 && plants.drainsOn !== true) return { evicted, left: 1 };
    if (clock.now >= deadline) {
      const names = pods.map(({ name }) => name).join(', ');
      throw fail('DrainTimedOut', `node ${input.node} was not drained in time: ${names}`);
    }
    const willing = pods.findIndex(({ stuck }) => !stuck);
    if (willing >= 0 && !cluster.isAway) {
      pods.splice(willing, 1);
      evicted += 1;
    }
    await attempt.sleep(willing < 0 ? LOOK_MS : chance.between(100, LOOK_MS));
  }
}

function refuse({ nodes }: ClusterWorld['cluster'], input: DrainNodeInput): void {
  const node = nodes.get(input.node);
  if (node === undefined) throw nodeDeleted(input.node);
  refuseAnotherNode(node, input);
  refuseToDrain(node, input);
}
