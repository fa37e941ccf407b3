import { z } from 'zod';
import { ConditionStatus, field, objectHead } from './object-schemas';

const count = z.int().min(0);
const line = z.string().max(2048);
const name = z.string().max(64);
const part = z.string().max(253);

const Condition = z.looseObject({
  type: name,
  status: ConditionStatus,
  reason: z.string().max(128),
  message: line,
  lastTransitionTime: z.string(),
});

const Component = z.looseObject({
  name,
  replicas: count,
  ready: count,
  images: z.array(z.string().max(1024)).max(16),
  downSince: field(z.string()),
});

/** `core/operator-status` says what it means. */
export const Slipway = z.looseObject({
  ...objectHead,
  status: field(
    z.looseObject({
      message: line,
      since: z.string(),
      conditions: z.array(Condition).max(8),
      versions: z.array(z.looseObject({ name, version: line })).max(16),
      components: z.array(Component).max(16),
      hostWorkers: z.looseObject({
        reported: count,
        neverReported: count,
        versions: z.array(z.looseObject({ version: z.string().max(128), hosts: count })).max(20),
      }),
      pools: z.record(z.string(), line),
      relatedObjects: z.array(z.looseObject({ group: part, resource: part, name: part })).max(32),
    }),
  ),
});
