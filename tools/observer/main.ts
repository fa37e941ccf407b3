/**
 * The observer as a program: `node dist/tools/observer/main.js '{"kubeconfig": …}'`. Violations come
 * out as JSON lines. It ends when its input does; a line `rest` asks it to judge a pool at rest.
 */

import { createInterface } from 'node:readline';
import { watchAudit } from './audit';
import { startObserver } from './observer';
import type { Assignment, Said } from './protocol';
import type { RolloutRecord } from './record';
import { problemsAtRest } from './rest';
import { watchTemporal } from './temporal-look';

/**
 * Statuses follow what they are about. How long that takes is not promised, but controllers that were killed
 * are followed after 17 s, counted from when the next ones look first, and have their work to do then.
 */
const REST_MS = 60_000;

function say(said: Said): void {
  process.stdout.write(`${JSON.stringify(said)}\n`);
}

async function main(assignment: Assignment): Promise<void> {
  const { temporal, auditLog } = assignment;
  const observer = await startObserver(assignment);
  const { record } = observer;
  const stop = new AbortController();
  const watching = [
    ...(temporal === undefined ? [] : [watchTemporal(temporal, record, stop.signal)]),
    ...(auditLog === undefined ? [] : [watchAudit(auditLog, record, stop.signal)]),
  ];
  let told = 0;
  const tell = (): void => {
    for (const violation of record.found.slice(told)) say({ kind: 'violation', ...violation });
    told = record.found.length;
  };
  record.onChange(tell);
  const telling = setInterval(tell, 500);
  say({ kind: 'ready' });
  for await (const line of createInterface({ input: process.stdin })) {
    if (line !== 'rest') continue;
    await judgeRest(record, assignment);
    tell();
    say({ kind: 'rest', ...summaryOf(record) });
  }
  clearInterval(telling);
  stop.abort();
  await Promise.all(watching);
  observer.stop();
  tell();
}

/** Whatever is still wrong when statuses have had their time is a violation. */
async function judgeRest(record: RolloutRecord, assignment: Assignment): Promise<void> {
  const { pool, restMs = REST_MS } = assignment;
  const rested = (): boolean => problemsAtRest(record, pool).length === 0;
  await new Promise<void>((resolve) => {
    const finish = (): void => {
      clearTimeout(timer);
      stop();
      resolve();
    };
    const stop = record.onChange(() => {
      if (rested()) finish();
    });
    const timer = setTimeout(finish, restMs);
    if (rested()) finish();
  });
  for (const { invariant, subject, text } of problemsAtRest(record, pool)) {
    record.report(invariant, subject, `at rest, ${text}`);
  }
}

function summaryOf(record: RolloutRecord) {
  return {
    violations: record.found.length,
    maxUnavailableSeen: record.maxUnavailableSeen,
    evictions: record.evictions,
    nodeChanges: record.changes.length,
  };
}

main(JSON.parse(process.argv[2] ?? '{}') as Assignment).then(
  () => process.exit(0),
  (error: unknown) => {
    process.stderr.write(`observer: ${error instanceof Error ? error.stack : String(error)}\n`);
    process.exit(1);
  },
);
