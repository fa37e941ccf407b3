/** The wait for a node to be Ready: a model, because the real one waits with timers. */

import { nodeDeleted, refuseAnotherNode } from '../../../activities/cluster/known-node';
import { ReadyCount } from '../../../activities/cluster/ready-count';
import { fail } from '../../../core/errors';
import { isSameNode } from '../../../core/rollout';
import type { AwaitReadyInput } from '../../../workflows/contracts/cluster';
import type { VirtualClock } from '../clock';
import type { Attempt } from '../temporal/attempt';
import type { Cluster, Picture } from './cluster';

/** A worker looks again this often; so do the real ones. */
const LOOK_MS = 3_000;

interface Seen {
  readonly clock: VirtualClock;
  readonly cluster: Cluster;
  /** What the cluster worker sees that takes up an attempt now. */
  seenBy(): Picture;
}

/** Counts as the real one does. A watch is never silent here; but while the API server is away nothing is seen. */
export async function awaitReady(
  world: Seen,
  attempt: Attempt,
  input: AwaitReadyInput,
): Promise<void> {
  const { clock, cluster } = world;
  const picture = world.seenBy();
  const count = new ReadyCount(input, { beganAt: clock.now, waitedMs: 0 });
  for (;;) {
    const node = picture.nodes.get(input.node);
    if (cluster.isAway) count.lost(clock.now);
    else if (node !== undefined && isSameNode(node, input.uid)) count.saw(node, clock.now);
    else refuseGone(cluster, input);
    const { verdict } = count;
    if (verdict?.isReady === true) return;
    if (verdict?.isReady === false) {
      const why = `${input.timeoutSeconds} s: ${verdict.why}`;
      throw fail('NodeNotReady', `node ${input.node} was not Ready in ${why}`);
    }
    await attempt.sleep(Math.max(1, Math.min(LOOK_MS, input.readySeconds * 1000 || LOOK_MS)));
  }
}

/** The picture may be behind. */
function refuseGone(cluster: Cluster, input: AwaitReadyInput): void {
  const node = cluster.nodes.get(input.node);
  if (node === undefined) throw nodeDeleted(input.node);
  refuseAnotherNode(node, input);
}
