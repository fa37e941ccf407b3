/** Says why a rollout does not progress. */

import { Client, Connection } from '@temporalio/client';
import { messageOf } from '../core/errors';
import { fewLines } from '../core/few';
import { poolRolloutId } from '../core/names';
import type { PoolRollout } from '../core/rollout/pool-rollout';
import { dataConverter } from '../process/temporal/payload-codec';
import type { Stack } from '../tools/stack/stack';

/** The other failures are only counted. */
const TOLD = 3;
/** On a busy machine, one node after the other can take this long. */
const TELL_AFTER_MS = 60_000;
const TELL_EVERY_MS = 30_000;
const ANSWER_MS = 20_000;
const POOL_ROLLOUT = '/apis/slipway.dev/v1alpha1/poolrollouts/worker';

export class Standstill {
  longestMs = 0;
  #lastCordonMs = -1;
  #sinceMs: number | undefined;
  #tellAtMs = 0;

  /**
   * @param hasRoom - whether one more node may be out of service, and one waits
   * @returns whether the standstill is long enough to be reported, at intervals
   */
  look(atMs: number, lastCordonMs: number, hasRoom: boolean): boolean {
    if (!hasRoom || lastCordonMs !== this.#lastCordonMs || this.#sinceMs === undefined) {
      this.#lastCordonMs = lastCordonMs;
      this.#sinceMs = hasRoom ? atMs : undefined;
      this.#tellAtMs = atMs + TELL_AFTER_MS;
      return false;
    }
    this.longestMs = Math.max(this.longestMs, atMs - this.#sinceMs);
    if (atMs < this.#tellAtMs) return false;
    this.#tellAtMs = atMs + TELL_EVERY_MS;
    return true;
  }
}

/**
 * State and blocker of the rollout, why the first nodes failed, and its task in Temporal. Never
 * throws.
 */
export async function whatTheRolloutSays({ temporal, cluster }: Stack): Promise<string> {
  const connection = Connection.lazy({ address: temporal.address });
  try {
    const client = new Client({
      ...{ connection, namespace: temporal.namespace },
      dataConverter: dataConverter(temporal.payloadKeys?.codec),
    });
    // Calls that begin outside `withDeadline` have no deadline.
    const told = await connection.withDeadline(Date.now() + ANSWER_MS, () =>
      Promise.all([
        shownByTemporal(client).catch((error: unknown) => `Temporal: ${messageOf(error)}`),
        writtenByStep(cluster).catch((error: unknown) => `no answer: ${messageOf(error)}`),
      ]),
    );
    return told.join('; ');
  } finally {
    await connection.close();
  }
}

/** As the last step has written it; undefined = none has. */
export async function rolloutOf({ admin }: Stack['cluster']): Promise<PoolRollout['status']> {
  const { status, text } = await admin.send('GET', POOL_ROLLOUT);
  if (status === 404) return undefined;
  if (status !== 200) throw new Error(`get poolrollout worker: HTTP ${status}`);
  return (JSON.parse(text) as PoolRollout).status;
}

async function writtenByStep(cluster: Stack['cluster']): Promise<string> {
  const status = await rolloutOf(cluster);
  if (status === undefined) return 'no step has written anything';
  const { state, blocker, grants, counts, failed } = status;
  const reasons = failed.map(({ node, reason }) => `${node}: ${reason}`);
  return [
    `${state}: ${blocker ?? 'no blocker named'}`,
    `${grants.length} grants, ${counts.waiting} wait for one, ${counts.failed} failed`,
    `${counts.outOfService} of at most ${counts.mayBeOut} out of service`,
    ...fewLines(reasons, { most: TOLD }),
  ].join('; ');
}

/** Only Temporal shows a workflow task that is retried again and again. */
async function shownByTemporal(client: Client): Promise<string> {
  const { raw, historyLength } = await client.workflow
    .getHandle(poolRolloutId('worker'))
    .describe();
  const task = raw.pendingWorkflowTask;
  const attempt = task == null ? 'no task' : `a task in attempt ${String(task.attempt)}`;
  return `${historyLength} events, ${attempt}`;
}
