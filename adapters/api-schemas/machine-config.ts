import { z } from 'zod';
import { field, objectHead } from './object-schemas';

const Names = z
  .array(z.string())
  .nullable()
  .transform((names) => names ?? []);

/** `config` is any Ignition version. */
export const MachineConfig = z.looseObject({
  ...objectHead,
  spec: z.looseObject({
    osImageURL: field(z.string()),
    baseOSExtensionsContainerImage: field(z.string()),
    config: field(z.record(z.string(), z.unknown())),
    kernelArguments: field(Names),
    extensions: field(Names),
    fips: field(z.boolean()),
    kernelType: field(z.string()),
  }),
});
