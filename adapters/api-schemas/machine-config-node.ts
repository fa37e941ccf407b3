import { z } from 'zod';
import {
  DETAIL_LIMIT,
  DRIFT_KINDS,
  FINDINGS_REPORTED,
  PATH_LIMIT,
  REPAIRS_REPORTED,
  VERSION_LIMIT,
} from '../../core/drift';
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

/** The last report of the host about its disk. */
const Drift = z.looseObject({
  config: ObjectName,
  count: z.int().min(0),
  findings: z
    .array(
      z.looseObject({
        path: z.string().max(PATH_LIMIT),
        kind: z.enum(DRIFT_KINDS),
        detail: z.string().max(DETAIL_LIMIT),
        since: z.string(),
      }),
    )
    .max(FINDINGS_REPORTED),
  repairs: z
    .array(z.looseObject({ path: z.string().max(PATH_LIMIT), at: z.string() }))
    .max(REPAIRS_REPORTED),
  forced: z.boolean(),
  unrepaired: field(z.string().max(DETAIL_LIMIT)),
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
      drift: field(Drift),
      hostWorker: field(z.looseObject({ version: z.string().max(VERSION_LIMIT) })),
    }),
  ),
});
