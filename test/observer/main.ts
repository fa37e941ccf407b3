/**
 * `node dist/test/observer/main.js '{"kubeconfig": …}'`. Violations are JSON lines on standard
 * output. The observer ends when its input does, which is JSON lines, too (`protocol.ts`).
 */

import { createInterface } from 'node:readline';
import { watchAudit } from './audit';
import { judgeRest } from './judge-rest';
import type { Observer } from './observer';
import { sightInto, startObserver } from './observer';
import type { Assignment, Said, Summary, Told } from './protocol';
import { allSeen } from './sight';
import { TemporalLook } from './temporal-look';

/** For statuses. Controllers that were killed are replaced after 17 s. */
const REST_MS = 60_000;

function say(said: Said): void {
  process.stdout.write(`${JSON.stringify(said)}\n`);
}

async function main(assignment: Assignment): Promise<void> {
  const { temporal, auditLog, pool, restMs = REST_MS } = assignment;
  const observer = await startObserver(assignment);
  const { record } = observer;
  const look =
    temporal === undefined
      ? undefined
      : new TemporalLook(temporal, record, sightInto(record, 'Temporal'));
  const audit = auditLog === undefined ? [] : [sightInto(record, 'the audit log')];
  const sights = [...observer.sights, ...(look === undefined ? [] : [look.sight]), ...audit];
  const stop = new AbortController();
  const watching = [
    ...(look === undefined ? [] : [look.run(stop.signal)]),
    ...audit.map((sight) => watchAudit(auditLog ?? '', record, sight, stop.signal)),
  ];
  let told = 0;
  const tell = (): void => {
    for (const sight of sights) sight.check(performance.now());
    for (const violation of record.found.slice(told)) say({ kind: 'violation', ...violation });
    told = record.found.length;
  };
  record.onChange(tell);
  const telling = setInterval(tell, 500);
  say({ kind: 'ready' });
  for await (const line of createInterface({ input: process.stdin })) {
    const order = JSON.parse(line) as Told;
    switch (order.kind) {
      case 'temporal moved':
        look?.moveTo(order.address);
        break;
      case 'rest':
        look?.lookNow();
        await judgeRest({ record, pool, sights, restMs });
        tell();
        say({ kind: 'rest', ...summaryOf(observer, look) });
        break;
    }
  }
  clearInterval(telling);
  stop.abort();
  await Promise.all(watching);
  observer.stop();
  tell();
}

function summaryOf({ record, sights }: Observer, look: TemporalLook | undefined): Summary {
  const nowMs = performance.now();
  return {
    violations: record.found.length,
    maxUnavailableSeen: record.maxUnavailableSeen,
    evictions: record.evictions,
    nodeChanges: record.changes.length,
    sight: {
      ...(look === undefined ? {} : { temporal: look.sight.seen(nowMs) }),
      apiServer: allSeen(sights, nowMs),
    },
  };
}

main(JSON.parse(process.argv[2] ?? '{}') as Assignment).then(
  () => process.exit(0),
  (error: unknown) => {
    process.stderr.write(`observer: ${error instanceof Error ? error.stack : String(error)}\n`);
    process.exit(1);
  },
);
