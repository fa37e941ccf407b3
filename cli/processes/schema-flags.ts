import type { z } from 'zod';
import { variableOf } from '../../workers/config';
import type { ProcessFlag } from './index';

/** A flag per setting of a schema; its description is the schema's own. */
export function flagsOfSchema(schema: z.ZodObject): readonly ProcessFlag[] {
  return Object.entries(schema.shape as Readonly<Record<string, z.ZodType>>).map(
    ([setting, type]) => ({
      setting,
      variable: variableOf(setting),
      ...(type.description === undefined ? {} : { description: type.description }),
    }),
  );
}
