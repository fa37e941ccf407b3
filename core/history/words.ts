/** What a person has said, beside what it changes. */

import { historyWith, withRecords, type Bounds, type Kept, type WordRecord } from './record';

interface Said {
  readonly word: {
    readonly kind: `${WordRecord['word']}${'' | 'Node'}`;
    readonly reason?: string;
    readonly by?: string;
  };
  /** RFC 3339: the same in each attempt to write it. */
  readonly at: string;
}

/** `change freeze (ada)` */
export function withPerson({
  reason,
  by,
}: {
  readonly reason: string;
  readonly by?: string;
}): string {
  return by === undefined ? reason : `${reason} (${by})`;
}

/** The change with the history that keeps the word, too. */
export function withWord<C extends { readonly annotations?: object }>(
  object: Kept,
  bounds: Bounds,
  { word: { kind, reason, by }, at }: Said,
  change: C | undefined,
): C | undefined {
  if (change === undefined) return undefined;
  const record: WordRecord = {
    ...{ at, word: kind.replace('Node', '') as WordRecord['word'] },
    ...(by === undefined ? {} : { by }),
    ...(reason === undefined ? {} : { reason }),
  };
  const history = historyWith(object, bounds, (records) => withRecords(records, record));
  return { ...change, annotations: { ...change.annotations, ...history } };
}
