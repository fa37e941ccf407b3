/** A rollout with a bug: Temporal retries its task for ever. */

export async function poolRollout(): Promise<void> {
  throw new Error('a bug');
}
