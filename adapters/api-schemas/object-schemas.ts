/** Pieces that several API objects share. */

import { z } from 'zod';

/** An optional field that is either absent or right; `undefined` is not written out. */
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

/** The API server checks metadata itself, so CRDs declare nothing of it. */
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

/** An integer or a string such as `25%`; which values make sense is decided in `core`. */
export const IntOrString = z.union([z.int(), z.string().max(32)]);

/** Name of another object. */
export const ObjectName = z.string().max(253);

/** The fields that every object of the API has. */
export const objectHead = {
  apiVersion: field(z.string()),
  kind: field(z.string()),
  metadata: ObjectMeta,
};
