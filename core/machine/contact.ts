/**
 * Times of a machine's questions whether Temporal answers, while an update waits for that. In
 * milliseconds.
 */

/** From one answer to the next question. */
export const ASK_AGAIN_MS = 5_000;
/** A later answer does not count. */
export const ASK_TIMEOUT_MS = 5_000;
/** A question begins and ends within this time of any moment. */
export const LONGEST_QUESTION_MS = ASK_TIMEOUT_MS + ASK_AGAIN_MS + ASK_TIMEOUT_MS;
