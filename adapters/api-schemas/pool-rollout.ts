import { z } from 'zod';
import { RolloutState } from '../../core/rollout';
import { field, objectHead, ObjectName } from './object-schemas';

const count = z.int().min(0);
const reasons = z.array(z.looseObject({ node: ObjectName, reason: z.string().max(200) })).max(50);

const Grant = z.looseObject({
  node: ObjectName,
  uid: z.string().max(128),
  run: z.string().max(64),
  startedAt: z.string(),
  config: ObjectName,
  grantedAt: z.string(),
  serves: field(z.boolean()),
});

const Condition = z.looseObject({
  type: z.string().max(64),
  status: z.enum(['True', 'False', 'Unknown']),
  reason: z.string().max(128),
  message: z.string().max(1024),
  lastTransitionTime: z.string(),
});

/** `core/rollout/pool-rollout` says what it means. */
export const PoolRollout = z.looseObject({
  ...objectHead,
  status: field(
    z.looseObject({
      config: field(ObjectName),
      startedAt: field(z.string()),
      state: z.enum(RolloutState),
      blocker: field(z.string().max(4096)),
      done: z.string().max(32),
      counts: z.looseObject({
        machines: count,
        updated: count,
        outOfService: count,
        mayBeOut: count,
        waiting: count,
        failed: count,
        held: count,
        blocked: count,
        simulated: field(count),
      }),
      failed: reasons,
      held: reasons,
      grants: z.array(Grant).max(2000),
      conditions: field(z.array(Condition).max(8)),
    }),
  ),
});
