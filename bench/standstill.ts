/** What a rollout that does not go on says of itself: a benchmark that gives up names the blocker. */

import { Client, Connection } from '@temporalio/client';
import { messageOf } from '../core/errors';
import { poolRolloutId } from '../core/names';
import type { Stack } from '../tools/stack/stack';
import { progressQuery } from '../workflows/messages';

/** Failures of which the reason is told; the count says how many there are. */
const TOLD = 3;

/** One line: state and blocker of the worker pool's rollout, and why the first nodes failed. Never throws. */
export async function whatTheRolloutSays({ temporal }: Stack): Promise<string> {
  const connection = Connection.lazy({ address: temporal.address });
  try {
    const client = new Client({ connection, namespace: temporal.namespace });
    const rollout = client.workflow.getHandle(poolRolloutId('worker'));
    const { state, blocker, slots, children, failed, failedCount } =
      await rollout.query(progressQuery);
    const reasons = failed.slice(0, TOLD).map(({ node, reason }) => `${node}: ${reason}`);
    return [
      `${state}: ${blocker ?? 'says nothing'}`,
      `${slots.length} slots, ${children.length} updates under way, ${failedCount} failed`,
      ...reasons,
    ].join('; ');
  } catch (error) {
    return `the rollout does not answer: ${messageOf(error)}`;
  } finally {
    await connection.close();
  }
}
