import { z } from 'zod';

/** Absent or valid, but not `undefined`. */
export function field<T extends z.ZodType>(schema: T): z.ZodExactOptional<T> {
  return z.exactOptional(schema);
}

const OwnerReference = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  name: z.string(),
  uid: z.string(),
  controller: field(z.boolean()),
  blockOwnerDeletion: field(z.boolean()),
});

/** The API server checks metadata itself. */
export const ObjectMeta = z.looseObject({
  name: z.string().min(1),
  uid: field(z.string()),
  resourceVersion: field(z.string()),
  generation: field(z.int()),
  labels: field(z.record(z.string(), z.string())),
  annotations: field(z.record(z.string(), z.string())),
  ownerReferences: field(z.array(OwnerReference)),
  creationTimestamp: field(z.string()),
  deletionTimestamp: field(z.string()),
  finalizers: field(z.array(z.string())),
});

export const LabelSelector = z.looseObject({
  matchLabels: field(z.record(z.string(), z.string())),
  matchExpressions: field(
    z.array(
      z.looseObject({
        key: z.string(),
        operator: z.enum(['In', 'NotIn', 'Exists', 'DoesNotExist']),
        values: field(z.array(z.string())),
      }),
    ),
  ),
});

export const ConditionStatus = z.enum(['True', 'False', 'Unknown']);

/** As the CRDs of MCO have it. */
export const Condition = z.looseObject({
  type: z.string(),
  status: ConditionStatus,
  reason: field(z.string()),
  message: field(z.string()),
  lastTransitionTime: field(z.string().nullable()),
});

/** `core` decides which values are valid. */
export const IntOrString = z.union([z.int(), z.string().max(32)]);

export const ObjectName = z.string().max(253);

export const objectHead = {
  apiVersion: field(z.string()),
  kind: field(z.string()),
  metadata: ObjectMeta,
};
