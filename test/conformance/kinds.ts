import { candidatesKind } from './candidates';
import { containerRuntimeKind } from './container-runtime-config';
import { daemonDiffKind } from './daemon-diff';
import type { ConformanceKind } from './kind';
import { kubeletConfigKind } from './kubelet-config';
import { registriesKind } from './registries';
import { renderKind } from './render';
import { serverKind } from './server';

const KINDS: readonly ConformanceKind[] = [
  renderKind,
  candidatesKind,
  daemonDiffKind,
  serverKind,
  kubeletConfigKind,
  containerRuntimeKind,
  registriesKind,
];

/** The kind of a parsed file. Throws, with the reason, when no kind fits. */
export function kindOf(file: unknown): ConformanceKind {
  const kind = KINDS.find((candidate) => candidate.matches(file));
  if (kind !== undefined) return kind;
  throw new Error('not a conformance file: its first case has none of the known shapes');
}
