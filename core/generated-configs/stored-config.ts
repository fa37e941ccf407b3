/** What makes a MachineConfig of the cluster the one that is wanted. */

import { canonicalJson } from '../machine-config/canonical';
import type { MachineConfig } from '../machine-config/types';
import type { KnownConfig } from './types';

export type ConfigWrite =
  | { readonly do: 'create' | 'replace'; readonly config: MachineConfig }
  | { readonly do: 'remove'; readonly name: string };

/** None when it is there. */
export function storedConfig(
  before: KnownConfig | undefined,
  wanted: MachineConfig,
): readonly ConfigWrite[] {
  if (before === undefined) return [{ do: 'create', config: wanted }];
  return isSame(before, wanted) ? [] : [{ do: 'replace', config: wanted }];
}

function isSame(before: KnownConfig, wanted: MachineConfig): boolean {
  const { labels, annotations } = wanted.metadata;
  const part = ({ metadata, spec }: KnownConfig): string =>
    canonicalJson({
      labels: picked(metadata.labels, labels),
      annotations: picked(metadata.annotations, annotations),
      owners: (metadata.ownerReferences ?? []).map(({ kind, uid }) => ({ kind, uid })),
      spec,
    });
  return part(before) === part(wanted);
}

type Texts = Readonly<Record<string, string>>;

/** A person's other labels and annotations are no difference. */
function picked(
  has: Texts | undefined,
  wanted: Texts | undefined,
): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(Object.keys(wanted ?? {}).map((key) => [key, has?.[key]]));
}
