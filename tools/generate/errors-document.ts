import type { FailureEntry, FailureKind } from '../../core/errors';
import { FAILURES } from '../../core/errors';

const KINDS: Readonly<Record<FailureKind, string>> = {
  transient: 'Tried again by itself with growing pauses. Nothing is shown until it lasts.',
  waiting: 'Comes back by itself; the status says what it waits for.',
  stalled:
    'Over until a person changes something, or a later attempt of the rollout where the last column says so.',
  cancelled: 'Somebody asked for it; everything is cleaned up behind it.',
  bug: 'Cannot happen. Please report it with the message.',
};

/** `docs/errors.md`: the failure catalogue for people. */
export function errorsDocument(): string {
  const entries = Object.entries<FailureEntry>(FAILURES);
  const sections = Object.entries(KINDS).flatMap(([kind, meaning]) => {
    const rows = entries.filter(([, entry]) => entry.kind === kind);
    if (rows.length === 0) return [];
    return [
      `## ${kind}`,
      meaning,
      [
        '| name | means | what to do |',
        '| --- | --- | --- |',
        ...rows.map(([name, entry]) => `| \`${name}\` | ${entry.means} | ${entry.next} |`),
      ].join('\n'),
    ];
  });
  return (
    [
      '<!-- Generated from core/errors.ts by `npm run generate`. Do not edit. -->',
      '# Errors',
      'Every failure that Slipway reports has a name. It is the type of the failure in the Temporal UI, the first word of the reason on a Node whose update failed, and the word to search for in logs. What has no name (a bug, a failure of a library) is told by its message alone.',
      ...sections,
      '',
    ]
      .join('\n\n')
      .trimEnd() + '\n'
  );
}
