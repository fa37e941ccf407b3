import { z } from 'zod';
import { field, objectHead } from './object-schemas';

export const ControllerConfig = z.looseObject({
  ...objectHead,
  spec: z.looseObject({
    baseOSContainerImage: field(z.string()),
    osImageURL: field(z.string()),
    baseOSExtensionsContainerImage: field(z.string()),
    releaseImage: field(z.string()),
    clusterDNSIP: field(z.string().max(64)),
    proxy: field(
      z.nullable(
        z.looseObject({
          httpProxy: field(z.string().max(2048)),
          httpsProxy: field(z.string().max(2048)),
          noProxy: field(z.string()),
        }),
      ),
    ),
  }),
  status: field(z.looseObject({})),
});
export type ControllerConfig = z.output<typeof ControllerConfig>;
