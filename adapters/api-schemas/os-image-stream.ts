import { z } from 'zod';
import { field, objectHead } from './object-schemas';

const name = z.string().min(1).max(253);
const image = z.string().min(1).max(447);

/** `core/pool/image-stream` judges the images. */
export const OSImageStream = z.looseObject({
  ...objectHead,
  spec: z.looseObject({ defaultStream: field(name) }),
  status: field(
    z.looseObject({
      availableStreams: z
        .array(z.looseObject({ name, osImage: image, osExtensionsImage: image }))
        .min(1)
        .max(100),
      defaultStream: name,
    }),
  ),
});
