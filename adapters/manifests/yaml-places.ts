import { isAlias, isMap, isScalar, isSeq, type Document, type ParsedNode } from 'yaml';
import { offsetOf } from './yaml-reader';

/** Into a map or a list. */
export type Step = string | number;

/** Of the field's name or of the list item, or of the nearest existing parent. */
export function nearestNode(document: Document.Parsed<ParsedNode>, path: readonly Step[]): number {
  let node: unknown = document.contents;
  let found = offsetOf(node);
  for (const step of path) {
    const next = stepInto(isAlias(node) ? node.resolve(document) : node, step);
    if (next === undefined) return found;
    ({ node } = next);
    found = next.offset;
  }
  return found;
}

function stepInto(
  node: unknown,
  step: Step,
): { readonly node: unknown; readonly offset: number } | undefined {
  if (isMap(node)) {
    const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === String(step));
    return pair === undefined ? undefined : { node: pair.value, offset: offsetOf(pair.key) };
  }
  if (isSeq(node) && typeof step === 'number') {
    const item = node.items[step];
    return item === undefined ? undefined : { node: item, offset: offsetOf(item) };
  }
  return undefined;
}
