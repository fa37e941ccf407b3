import { z } from 'zod';
import { Condition, field, IntOrString, LabelSelector, objectHead } from './object-schemas';

const reference = {
  apiVersion: field(z.string()),
  fieldPath: field(z.string()),
  kind: field(z.string()),
  name: field(z.string()),
  namespace: field(z.string()),
  resourceVersion: field(z.string()),
  uid: field(z.string()),
};

/** MCO writes no source without a name. */
const Configuration = z.looseObject({
  ...reference,
  source: field(z.array(z.looseObject(reference))),
});

const Named = z.looseObject({ name: field(z.string()) });

/** `core/pool/capacity` judges `maxUnavailable`. */
export const MachineConfigPool = z.looseObject({
  ...objectHead,
  spec: z.looseObject({
    machineConfigSelector: field(LabelSelector),
    nodeSelector: field(LabelSelector),
    paused: field(z.boolean()),
    maxUnavailable: field(IntOrString),
    configuration: field(Configuration),
    osImageStream: field(Named),
    pinnedImageSets: field(z.array(z.looseObject({ name: z.string().min(1) })).max(100)),
  }),
  status: field(
    z.looseObject({
      observedGeneration: field(z.int()),
      configuration: field(Configuration),
      machineCount: field(z.int32()),
      updatedMachineCount: field(z.int32()),
      readyMachineCount: field(z.int32()),
      unavailableMachineCount: field(z.int32()),
      degradedMachineCount: field(z.int32()),
      certExpirys: field(
        z.array(
          z.looseObject({
            bundle: z.string(),
            subject: z.string(),
            expiry: field(z.string().nullable()),
          }),
        ),
      ),
      poolSynchronizersStatus: field(
        z.array(
          z.looseObject({
            poolSynchronizerType: z.string(),
            machineCount: z.int(),
            updatedMachineCount: z.int(),
            readyMachineCount: z.int(),
            availableMachineCount: z.int(),
            unavailableMachineCount: z.int(),
          }),
        ),
      ),
      osImageStream: field(Named),
      conditions: field(z.array(Condition)),
    }),
  ),
});
