/** KubeletConfigurations to judge. */

import { isRecord } from '../../../core/is-record';
import { drawsOf, type Draws } from './random';
import { FIELDS, GROUPS } from './fields';
import { QUANTITIES } from './amounts';
import { RESOURCE_MAPS } from './values';
import type { Question } from './verdicts';

type Document = Readonly<Record<string, unknown>>;

export interface Case extends Question {
  /** Keys joined with points; absent where several fields are drawn. */
  readonly field?: string;
}

/** Every value of every field, alone; and every quantity where a quantity is read. */
export function singleFields(): readonly Case[] {
  const fields = Object.entries(FIELDS).flatMap(([field, values]) =>
    values.map((value) => ({ field, document: withField({}, field, value) })),
  );
  const quantities = QUANTITIES.flatMap((text): readonly Case[] => [
    { field: 'containerLogMaxSize', document: { containerLogMaxSize: text } },
    { field: 'evictionHard', document: { evictionHard: { 'memory.available': text } } },
    { field: 'kubeReserved', document: { kubeReserved: { memory: text } } },
  ]);
  return [...fields, ...quantities];
}

/** A group of fields that decide together, perhaps with others. */
export function drawnDocuments(seed: number, count: number): readonly Case[] {
  const draws = drawsOf(seed);
  return Array.from({ length: count }, () => {
    const others = Array.from({ length: draws.below(3) }, () => draws.of(Object.keys(FIELDS)));
    const group = draws.of(GROUPS).filter(() => draws.chance(0.8));
    const fields = draws.chance(0.2) ? [...group, ...others] : group;
    const document = fields.reduce((sum, field) => withField(sum, field, drawn(draws, field)), {});
    return draws.chance(0.2) ? { document, systemReserved: draws.of(RESOURCE_MAPS) } : { document };
  });
}

function drawn(draws: Draws, field: string): unknown {
  return draws.of(FIELDS[field] ?? []);
}

function withField(document: Document, field: string, value: unknown): Document {
  const [name = '', ...rest] = field.split('.');
  if (rest.length === 0) return { ...document, [name]: value };
  const inner = document[name];
  return { ...document, [name]: withField(isRecord(inner) ? inner : {}, rest.join('.'), value) };
}
