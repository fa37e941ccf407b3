/** A template of a unit, or of drop-ins for one → the unit. */

import { isRecord } from '../is-record';
import type { IgnitionUnit } from '../machine-config/types';
import type { Made } from './file';
import { Filler, type Values } from './filler';
import { Shape } from './shapes';
import type { TemplateFile, TemplatePorts } from './types';

const FIELDS = ['name', 'enabled', 'mask', 'when', 'contents', 'dropins'];

type Dropin = NonNullable<IgnitionUnit['dropins']>[number];

export function unitOf(
  template: TemplateFile,
  values: Values,
  ports: TemplatePorts,
): Made<IgnitionUnit> {
  const filler = new Filler(template, values, ports);
  const shape = Shape.read(filler, FIELDS);
  if (shape === undefined) return { findings: filler.findings };
  const name = shape.required('name', 'data');
  const [enabled, mask] = [shape.boolean('enabled'), shape.boolean('mask')];
  const contents = shape.text('contents', 'unit');
  const dropins = dropinsOf(shape);
  if (name === undefined || filler.findings.length > 0) return { findings: filler.findings };
  const unit = {
    name,
    ...(enabled === undefined ? {} : { enabled }),
    ...(mask === undefined ? {} : { mask }),
    ...(contents === undefined || contents.trim() === '' ? {} : { contents }),
    ...(dropins.length === 0 ? {} : { dropins }),
  };
  // Nothing but the name changes nothing.
  return Object.keys(unit).length === 1 ? { findings: [] } : { made: unit, findings: [] };
}

/** Without those whose text becomes nothing. */
function dropinsOf(shape: Shape): readonly Dropin[] {
  const list = shape.get('dropins');
  if (list === undefined) return [];
  if (!Array.isArray(list) || !list.every(isRecord)) {
    shape.report('dropins', 'dropins are no list', 'write name and contents of each after a dash');
    return [];
  }
  return list.flatMap((value, i): readonly Dropin[] => {
    const one = shape.below(['dropins', i], value);
    one.only(['name', 'contents']);
    const name = one.required('name', 'data');
    const contents = one.text('contents', 'unit');
    if (!one.has('contents')) one.report('contents', 'contents are missing', 'add them');
    const isFilled = name !== undefined && contents !== undefined && contents.trim() !== '';
    return isFilled ? [{ name, contents }] : [];
  });
}
