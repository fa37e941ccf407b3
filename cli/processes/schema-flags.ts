import type { z } from 'zod';
import { variableOf } from '../../process/settings';
import { DESCRIPTIONS } from './descriptions';
import type { ProcessFlag } from './process-command';

export function flagsOfSchema(schema: z.ZodObject): readonly ProcessFlag[] {
  return Object.keys(schema.shape).map((setting) => ({
    setting,
    variable: variableOf(setting),
    ...(DESCRIPTIONS[setting] === undefined ? {} : { description: DESCRIPTIONS[setting] }),
  }));
}
