/** Before a machine boots back: nothing runs on its node that the boot would end. */

import { log } from '@temporalio/workflow';
import type { UpdatePlan } from '../../core/node/plan-types';
import { explain, sentence, type Failure } from '../contracts/failures';
import type { NodeUpdate } from './update';

/** Whoever takes the cordon away in the middle of every drain is not waited for any longer. */
const CLEARED_AT_MOST = 5;

/** What is found of the cordon of this update. */
type Found = 'ours' | 'ours, and pods' | 'none' | 'of a person';

/**
 * Somebody may have uncordoned the node since its reboot, or a pod was bound to it late, and the boot on the way
 * back would end the pods that came to it without asking any budget. So they are evicted first, as before the
 * reboot; under the cordon of a person, if there is one, which stays theirs.
 *
 * @throws why the node could not be cordoned or drained: then its machine stays as it is
 */
export async function clearAgain(update: NodeUpdate, cause: Failure): Promise<void> {
  const { cluster, progress } = update;
  const { plan, pastPointOfNoReturn } = progress;
  // A machine that an earlier update has rebooted boots back, too.
  const mayBoot = pastPointOfNoReturn || !update.settled;
  if (plan?.drain !== true || !mayBoot) return;
  for (let times = 1; ; times += 1) {
    progress.enter('GoingBack', 'a look at the cordon and the pods of its node');
    const cordon = await cordonNow(update, plan);
    if (cordon === 'ours') return;
    try {
      await clear(update, plan, cordon);
      cluster.showGoingBack(sentence(cause));
      return;
    } catch (error) {
      const isOvertaken = cordonFoundBy(error) !== undefined;
      if (!isOvertaken || times >= CLEARED_AT_MOST) throw error;
      log.warn('the cordon was changed once more', { error });
    }
  }
}

async function clear(
  { cluster, progress }: NodeUpdate,
  plan: UpdatePlan,
  cordon: Exclude<Found, 'ours'>,
): Promise<void> {
  if (cordon === 'none') {
    progress.enter('GoingBack', 'its Node to be cordoned once more');
    const { drained } = await cluster.cordonAgain(plan);
    if (drained !== undefined) return;
  }
  progress.enter('GoingBack', 'pods to leave the node once more, before it boots back');
  await cluster.drainAgain(plan);
}

/** A look that fails holds up no way back: the machine has just failed, and nothing says that it serves. */
async function cordonNow({ cluster }: NodeUpdate, plan: UpdatePlan): Promise<Found> {
  try {
    const checked = await cluster.checkCordonBack(plan);
    return checked.isEmpty ? 'ours' : 'ours, and pods';
  } catch (error) {
    const found = cordonFoundBy(error);
    if (found !== undefined) return found;
    log.warn('the host goes back without a look at the cordon of its node', { error });
    return 'ours';
  }
}

/** What a step that a person has overtaken has found in place of the cordon of this update. */
function cordonFoundBy(error: unknown): 'none' | 'of a person' | undefined {
  const { name } = explain(error);
  if (name === 'UncordonedByUser') return 'none';
  return name === 'CordonedByUser' ? 'of a person' : undefined;
}
