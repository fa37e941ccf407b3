import { z } from 'zod';
import { field, objectHead } from './object-schemas';

/** `core/pinned-images` judges the images. */
export const PinnedImageSet = z.looseObject({
  ...objectHead,
  spec: z.looseObject({
    pinnedImages: z
      .array(z.looseObject({ name: z.string().min(1).max(447) }))
      .min(1)
      .max(500),
  }),
  status: field(z.looseObject({})),
});
