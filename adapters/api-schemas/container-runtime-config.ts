import { z } from 'zod';
import { Condition, field, IntOrString, LabelSelector, objectHead } from './object-schemas';

const stores = (most: number) =>
  field(z.array(z.looseObject({ path: z.string().min(1).max(256) })).max(most));

/** `core/container-runtime` judges the values. */
export const ContainerRuntimeConfig = z.looseObject({
  ...objectHead,
  spec: z.looseObject({
    machineConfigPoolSelector: field(LabelSelector),
    containerRuntimeConfig: field(
      z.looseObject({
        pidsLimit: field(z.int()),
        logLevel: field(z.enum(['', 'error', 'fatal', 'panic', 'warn', 'info', 'debug', 'trace'])),
        logSizeMax: field(IntOrString),
        overlaySize: field(IntOrString),
        defaultRuntime: field(z.enum(['', 'crun', 'runc'])),
        additionalLayerStores: stores(5),
        additionalImageStores: stores(10),
        additionalArtifactStores: stores(10),
      }),
    ),
  }),
  status: field(
    z.looseObject({
      observedGeneration: field(z.int()),
      conditions: field(z.array(Condition)),
    }),
  ),
});
