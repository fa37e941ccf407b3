import { z } from 'zod';
import { field, IntOrString, objectHead } from './object-schemas';

const between = (least: number, most: number) => field(z.int32().min(least).max(most));

/** `core/rollout/policy` fills the defaults. */
export const RolloutPolicy = z.looseObject({
  ...objectHead,
  spec: field(
    z.looseObject({
      trigger: field(z.enum(['Automatic', 'Manual'])),
      canary: field(z.looseObject({ nodes: between(0, 1000) })),
      failureThreshold: field(IntOrString),
      drain: field(
        z.looseObject({
          timeoutSeconds: between(1, 604_800),
          gracePeriodSeconds: between(0, 86_400),
          skipWaitForDeleteTimeoutSeconds: between(1, 86_400),
          onTimeout: field(z.enum(['RetryLater', 'Fail'])),
        }),
      ),
      reboot: field(z.looseObject({ timeoutSeconds: between(1, 86_400) })),
      prepareAhead: between(0, 1000),
      verify: field(
        z.looseObject({
          readySeconds: between(0, 3600),
          reconnectSeconds: between(1, 86_400),
        }),
      ),
      drift: field(z.enum(['Report', 'Repair'])),
      repair: field(
        z.looseObject({ limit: between(1, 100), intervalSeconds: between(60, 604_800) }),
      ),
    }),
  ),
});
