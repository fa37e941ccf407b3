import type { FailureEntry, FailureKind } from '../../core/errors';
import { FAILURES } from '../../core/errors';

const KINDS: Readonly<Record<FailureKind, string>> = {
  transient: 'Slipway tries again with growing pauses. It shows the error only if it lasts.',
  waiting: 'Slipway tries again later. The status names what it waits for.',
  stalled: 'A person must change something, unless the last column says that Slipway tries again.',
  cancelled: 'The update was superseded or cancelled, and is cleaned up.',
  bug: 'This cannot happen. Please report it with the message.',
};

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
      'Every failure that Slipway reports has a name. It is the type of the failure in the Temporal UI, the first word of the reason on a Node whose update failed, and the word to search for in logs. A failure without a name (a bug, a failure of a library) has only its message.',
      ...sections,
      '',
    ]
      .join('\n\n')
      .trimEnd() + '\n'
  );
}
