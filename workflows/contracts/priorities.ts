/**
 * Who goes first where Temporal has a backlog, as when many machines come back at once: 1 before 5, 3 where
 * nothing is said. Children and activities inherit it, so each says its own.
 */

import type { Priority } from '@temporalio/common';

export const PRIORITY = {
  /** The rollout: its grants keep the pool going. */
  rollout: { priorityKey: 1 },
  /** What puts a node back into service. */
  back: { priorityKey: 2 },
  update: { priorityKey: 3 },
} as const satisfies Readonly<Record<string, Priority>>;
