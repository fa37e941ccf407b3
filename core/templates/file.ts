/** A template of a file → the file. */

import { fileContents } from '../generated-configs';
import { isRecord } from '../is-record';
import type { IgnitionFile } from '../machine-config/types';
import { FORMATS, UnwritableData, written } from './contents';
import { Filler, type Values } from './filler';
import { Shape } from './shapes';
import type { TemplateFile, TemplateFinding, TemplatePorts } from './types';

const FIELDS = ['path', 'mode', 'user', 'group', 'when', 'contents'];
const CONTENTS = ['inline', ...FORMATS];
const CONTENTS_FIX = `write one of ${CONTENTS.join(', ')} below contents`;

/** None when the template says so, or its text becomes nothing. */
export interface Made<T> {
  readonly made?: T;
  readonly findings: readonly TemplateFinding[];
}

export function fileOf(
  template: TemplateFile,
  values: Values,
  ports: TemplatePorts,
): Made<IgnitionFile> {
  const filler = new Filler(template, values, ports);
  const shape = Shape.read(filler, FIELDS);
  if (shape === undefined) return { findings: filler.findings };
  const path = shape.required('path', 'data');
  const mode = shape.mode('mode') ?? 0o644;
  const owners = { ...ownerOf(shape, 'user'), ...ownerOf(shape, 'group') };
  const contents = shape.get('contents');
  let text: string | undefined;
  if (!isRecord(contents)) shape.report('contents', 'contents are missing', CONTENTS_FIX);
  else text = contentsOf(shape.below(['contents'], contents));
  if (text === undefined || path === undefined || filler.findings.length > 0)
    return { findings: filler.findings };
  if (text.trim() === '') return { findings: [] };
  return {
    made: { path, overwrite: true, mode, ...owners, contents: fileContents(text) },
    findings: [],
  };
}

function ownerOf(shape: Shape, field: 'user' | 'group'): object {
  const name = shape.text(field, 'data');
  return name === undefined ? {} : { [field]: { name } };
}

function contentsOf(shape: Shape): string | undefined {
  shape.only(CONTENTS);
  const [format, second] = CONTENTS.filter((one) => shape.has(one));
  if (format === undefined || second !== undefined) {
    shape.report('contents', 'contents are of no format, or of several', CONTENTS_FIX);
    return undefined;
  }
  const data = FORMATS.find((one) => one === format);
  if (data === undefined) return inlineText(shape);
  const filled = shape.data(data);
  try {
    return written(data, filled);
  } catch (error) {
    if (!(error instanceof UnwritableData)) throw error;
    shape.report(data, `this cannot be written as ${data}: ${error.message}`, 'correct it');
    return undefined;
  }
}

/** A shell would run a value as a part of the script. */
function inlineText(shape: Shape): string | undefined {
  const template = shape.get('inline');
  if (typeof template === 'string' && template.startsWith('#!') && template.includes('{{')) {
    const fix = 'put the value into a file of format env, and let the script read that';
    shape.report('inline', 'a script cannot hold values', fix);
    return undefined;
  }
  return shape.text('inline', 'text');
}
