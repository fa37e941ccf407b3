import { z } from 'zod';
import { ConditionStatus, field, objectHead, ObjectName } from './object-schemas';

const REASON = /^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/;

const Condition = z.looseObject({
  type: z.string().max(316),
  status: ConditionStatus,
  observedGeneration: field(z.int().min(0)),
  reason: z.string().min(1).max(1024).regex(REASON),
  message: z.string().max(32768),
  lastTransitionTime: z.string(),
});

export const MachineConfigNode = z.looseObject({
  ...objectHead,
  spec: z.looseObject({
    node: z.looseObject({ name: ObjectName }),
    pool: z.looseObject({ name: ObjectName }),
    configVersion: z.looseObject({ desired: ObjectName }),
  }),
  status: field(
    z.looseObject({
      observedGeneration: field(z.int().min(1)),
      configVersion: field(z.looseObject({ current: field(ObjectName), desired: ObjectName })),
      conditions: field(z.array(Condition).max(20)),
    }),
  ),
});
