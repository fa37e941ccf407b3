/** The end of an update that holds: its host commits it, and its node is back in service. */

import { log } from '@temporalio/workflow';
import type { NodePhase } from '../../core/node/lifecycle';
import { isLate } from '../contracts/failures';
import type { Ending } from './progress';
import type { NodeUpdate } from './update';
import { SILENT_KUBELET_SECONDS } from '../contracts/timeouts';

/** A host that is silent at each commit, and answers in between, is not waited for any longer. */
const COMMITS_AT_MOST = 5;
const NOT_SAID = 'the host has not said that it has committed';

/**
 * 7. The node is completed when its host has committed: until then the machine goes back by itself if it reaches
 * nobody, and a node that says that it is done would be on its old config.
 */
export async function finish(update: NodeUpdate): Promise<Ending> {
  await untilCommitted(update);
  return complete(update);
}

/**
 * A host that does not answer proves once more that it is on its config as soon as it does, unless it has gone back
 * meanwhile; and its node, that it is Ready for longer than that of a kubelet that has fallen silent, too.
 *
 * @throws why the host has not committed, as far as anybody knows
 */
async function untilCommitted(update: NodeUpdate): Promise<void> {
  const { progress, host } = update;
  const current = 'the host to make it its current config';
  for (let times = 1; ; times += 1) {
    update.commitOrdered = true;
    try {
      await progress.during('Completing', host.commit, current);
      noteCommitted(update);
      return;
    } catch (error) {
      if (!isLate(error) || times >= COMMITS_AT_MOST) throw error;
      log.warn(NOT_SAID, { error });
    }
    const again = () => host.verifyAgain(times);
    await progress.during('Verifying', again, `the host to verify what it has: ${NOT_SAID}`);
    await keepsReady(update, 'Verifying', NOT_SAID);
  }
}

/** From here on there is nothing to take back any more. */
export function noteCommitted(update: NodeUpdate): void {
  update.verified = true;
  update.hostIsOn = update.input.config.name;
}

/**
 * What keeps the host from answering may have ended its kubelet, too, and a node that falls silent is Ready for most
 * of a minute more.
 *
 * @throws why it is not Ready
 */
export async function keepsReady(
  { input, progress, cluster }: NodeUpdate,
  phase: NodePhase,
  why: string,
): Promise<void> {
  const longer = Math.max(input.policy.readySeconds, SILENT_KUBELET_SECONDS);
  const ready = () => cluster.awaitReady(undefined, longer);
  await progress.during(phase, ready, `the node to be Ready for longer: ${why}`);
}

/** The node is on its config, whatever happens now. Retried for a day. */
export async function complete(update: NodeUpdate): Promise<Ending> {
  const { progress, cluster } = update;
  update.verified = true;
  cluster.hideShown();
  await progress.during('Completing', cluster.complete, 'its Node to be written');
  // What it said before is no news about this Node any more.
  update.hostIsOn = update.input.config.name;
  return { outcome: 'updated' };
}
