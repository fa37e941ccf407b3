/** Every kind of file that can be run. */

import { candidatesKind } from './candidates';
import { daemonDiffKind } from './daemon-diff';
import { casesOf, type ConformanceKind } from './kind';
import { renderKind } from './render';

export const KINDS: readonly ConformanceKind[] = [renderKind, candidatesKind, daemonDiffKind];

/** The kind of a parsed file. Throws, naming the reason, when the file cannot be run. */
export function kindOf(file: unknown): ConformanceKind {
  const kind = KINDS.find((candidate) => candidate.matches(file));
  if (kind !== undefined) return kind;
  const [first] = casesOf(file) ?? [];
  if (first !== undefined && 'method' in first && 'path' in first) {
    throw new Error('answers of the Machine Config Server cannot be run: this build has no server');
  }
  throw new Error('not a conformance file: its first case has none of the known shapes');
}
