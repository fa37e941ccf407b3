/**
 * Names of generated MachineConfigs: `99-<pool>-generated-<word>`, and with `-1` to `-9` for the
 * second to tenth object of a pool. The number is on the object as an annotation, so that it stays.
 * `98-…` is of the FeatureGate, `97-…` of nodes.config.
 *
 * @see MCO pkg/controller/kubelet-config/helpers.go (7ff337a4), getManagedKubeletConfigKey
 * @see MCO pkg/controller/common/helpers.go (7ff337a4), GetManagedKey
 */

import { messageOf } from '../errors';
import { ANNOTATION } from '../names';
import { compileSelector } from '../selectors';
import type { Origin, OriginKind, SelectedPool } from './types';

/** The highest number after a name. */
const MOST = 9;

export interface NameInput {
  readonly pool: SelectedPool;
  readonly origin: Pick<Origin, 'metadata'>;
  /** All of the kind. */
  readonly origins: readonly Origin[];
  /** Names of the MachineConfigs that exist. */
  readonly exists: (name: string) => boolean;
}

type NameVerdict =
  | {
      readonly name: string;
      /** A MachineConfig under its name of before OpenShift 4.7, which the new one replaces. */
      readonly legacy?: string;
    }
  | { readonly problem: string };

type Word = OriginKind['word'] | 'registries';

/** The name without a number. */
export function baseName(word: Word, pool: string, prefix: 97 | 98 | 99 = 99): string {
  return `${prefix}-${pool}-generated-${word}`;
}

/** The name before OpenShift 4.7. */
export function legacyName(
  word: Word,
  { name, uid = '' }: { readonly name: string; readonly uid?: string | undefined },
): string {
  return `99-${name}-${uid}-${word}`;
}

/** The pool in a name, with or without a number; undefined = not a name of this word. */
export function poolInName(word: Word, name: string): string | undefined {
  return new RegExp(`^99-(.+)-generated-${word}(-\\d+)?$`).exec(name)?.[1];
}

/** The name for this pool. */
export function generatedName(kind: OriginKind, input: NameInput): NameVerdict {
  const { pool, origin, origins } = input;
  const first = firstName(kind, input);
  if (origins.length === 0) return first;
  const rivals = ofPool(origins, pool);
  if ('problem' in rivals) return rivals;
  const own = rivals.found.find(({ metadata }) => metadata.name === origin.metadata.name);
  const suffix = own?.metadata.annotations?.[ANNOTATION.NAME_SUFFIX];
  if (suffix !== undefined) {
    return suffix === '' ? first : { name: `${baseName(kind.word, pool.metadata.name)}-${suffix}` };
  }
  if (rivals.found.length === 1) return first;
  const rendered = isNewest(rivals.found, origin) ? undefined : nameInFinalizers(kind, input);
  return rendered === undefined ? nextName(kind, pool, rivals.found) : { name: rendered };
}

/** '' = none. */
export function suffixOf(name: string): string {
  const last = name.slice(name.lastIndexOf('-') + 1);
  return /^[+-]?\d+$/.test(last) ? last : '';
}

type Found<T> = { readonly found: readonly T[] } | { readonly problem: string };

/** The objects of a kind that select this pool. */
export function ofPool(origins: readonly Origin[], pool: SelectedPool): Found<Origin> {
  return found(() => origins.filter((origin) => selectorOf(origin)(pool)));
}

/** Pools that one object selects. */
export function selectedPools<P extends SelectedPool>(
  origin: Pick<Origin, 'spec'>,
  pools: readonly P[],
): Found<P> {
  return found(() => pools.filter(selectorOf(origin)));
}

function found<T>(find: () => readonly T[]): Found<T> {
  try {
    return { found: find() };
  } catch (error) {
    return { problem: `invalid label selector: ${messageOf(error)}` };
  }
}

/** Nothing selects with an empty selector. */
function selectorOf({ spec }: Pick<Origin, 'spec'>): (pool: SelectedPool) => boolean {
  const selector = compileSelector(spec?.machineConfigPoolSelector);
  return ({ metadata }) => !selector.empty && selector.matches(metadata.labels);
}

function firstName(kind: OriginKind, { pool, exists }: NameInput): NameVerdict {
  const name = baseName(kind.word, pool.metadata.name);
  const legacy = legacyName(kind.word, pool.metadata);
  return !exists(name) && exists(legacy) ? { name, legacy } : { name };
}

function isNewest(rivals: readonly Origin[], { metadata }: Pick<Origin, 'metadata'>): boolean {
  const createdAt = timeOf(metadata.creationTimestamp);
  return !rivals.some((rival) => timeOf(rival.metadata.creationTimestamp) > createdAt);
}

function timeOf(timestamp: string | undefined): number {
  return timestamp === undefined ? 0 : Date.parse(timestamp);
}

/**
 * An object without a number that was rendered before it got one: the highest of its finalizers
 * whose MachineConfig exists.
 */
function nameInFinalizers(
  kind: OriginKind,
  { pool, origin, exists }: NameInput,
): string | undefined {
  const base = baseName(kind.word, pool.metadata.name);
  const numbered = (origin.metadata.finalizers ?? [])
    .filter((name) => exists(name) && name.startsWith(base))
    .flatMap((name) => {
      const suffix = suffixOf(name);
      if (suffix !== '') return [{ name, number: Number(suffix) }];
      return name === base ? [{ name, number: 0 }] : [];
    })
    .filter(({ number }) => number >= 0);
  const highest = Math.max(...numbered.map(({ number }) => number));
  return numbered.find(({ number }) => number === highest)?.name;
}

/** One above the highest that is in use, so that the newest object wins. */
function nextName(kind: OriginKind, pool: SelectedPool, rivals: readonly Origin[]): NameVerdict {
  let highest = 0;
  for (const { metadata } of rivals) {
    const suffix = metadata.annotations?.[ANNOTATION.NAME_SUFFIX] ?? '';
    if (suffix === '') continue;
    if (!/^[+-]?\d+$/.test(suffix)) {
      return {
        problem: `error converting ${suffix} to int: strconv.Atoi: parsing ${JSON.stringify(suffix)}: invalid syntax`,
      };
    }
    highest = Math.max(highest, Number(suffix));
  }
  if (highest + 1 > MOST) return { problem: kind.tooMany };
  return { name: `${baseName(kind.word, pool.metadata.name)}-${highest + 1}` };
}
