import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AuditJudge, watchAudit } from '../../observer/audit';
import { sightInto } from '../../observer/observer';
import { RolloutRecord } from '../../observer/record';
import { problemsAtRest } from '../../observer/rest';
import { byUpdate, node } from './objects';

const WORKER = 'slipway-cluster-worker';

function event(parts: object): string {
  return JSON.stringify({
    stage: 'ResponseComplete',
    verb: 'patch',
    user: { username: WORKER },
    responseStatus: { code: 200 },
    ...parts,
  });
}

const wrote = (version: string, username = WORKER) =>
  event({
    user: { username },
    objectRef: { resource: 'nodes', name: 'a' },
    responseObject: { metadata: { resourceVersion: version } },
  });

const removed = (parts: object = {}) =>
  event({
    verb: 'delete',
    objectRef: { resource: 'pods', namespace: 'shop', name: 'cart-1' },
    ...parts,
  });

function texts(record: RolloutRecord): readonly string[] {
  return record.found.map(({ invariant, text }) => `${invariant} ${text}`);
}

describe("who removed a person's cordon", () => {
  const cordoned = () => node('a', { unschedulable: true });

  test.each(['the log', 'the watch'])('%s comes first', (first) => {
    const record = new RolloutRecord({});
    const judge = new AuditJudge(record);
    const after = node('a');
    if (first === 'the log') judge.line(wrote(after.resourceVersion));
    record.nodeSeen(cordoned(), 0);
    record.nodeSeen(after, 1);
    if (first === 'the watch') judge.line(wrote(after.resourceVersion));
    judge.judge();
    expect(texts(record)).toEqual([`I3 a: ${WORKER} removed a person's cordon`]);
  });

  test('the log comes first and ends there: it is judged, once, as soon as the watch shows it', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'slipway-audit-'));
    const file = join(directory, 'audit.log');
    writeFileSync(file, '');
    const record = new RolloutRecord({});
    const sight = sightInto(record, 'the audit log');
    const stop = new AbortController();
    const watching = watchAudit(file, record, sight, stop.signal);
    await sight.sees();
    record.nodeSeen(cordoned(), 0);
    const after = node('a');
    appendFileSync(file, `${wrote(after.resourceVersion)}\n`);
    await sight.sees();
    expect(texts(record)).toEqual([]);

    record.nodeSeen(after, 1);
    const found = texts(record);
    stop.abort();
    await watching;
    rmSync(directory, { recursive: true });

    expect(found).toEqual([`I3 a: ${WORKER} removed a person's cordon`]);
    expect(texts(record)).toEqual(found);
  });

  test('Slipway, beside whose own a person had applied it', () => {
    const record = new RolloutRecord({});
    const judge = new AuditJudge(record);
    const annotations = byUpdate('a');
    record.nodeSeen(node('a', { ...cordoned(), annotations, cordonAppliedBy: ['argocd'] }), 0);
    const after = node('a', { annotations });
    record.nodeSeen(after, 1);
    judge.line(wrote(after.resourceVersion));
    expect(texts(record)).toEqual([`I3 a: ${WORKER} removed a person's cordon`]);
  });

  test('the person, or Slipway in another write', () => {
    const record = new RolloutRecord({});
    const judge = new AuditJudge(record);
    const before = cordoned();
    record.nodeSeen(before, 0);
    record.nodeSeen(node('a'), 1);
    judge.line(wrote(before.resourceVersion));
    judge.line(wrote(record.changes.at(-1)?.node.resourceVersion ?? '', 'alice'));
    expect(texts(record)).toEqual([]);
  });
});

describe('a cordon that is left without a mark', () => {
  const OURS = { unschedulable: true, annotations: byUpdate('a') };
  const BARE = { unschedulable: true };
  const APPLIED = { cordonAppliedBy: ['argocd'] };
  const FOUND = `I2 a: it has a cordon of ${WORKER} without a mark`;

  type Write = readonly [parts: Parameters<typeof node>[1], by?: string];

  /** Violations at rest after these writes of a node; `by` = Slipway's users only, as in the log. */
  function leftAfter(...writes: readonly Write[]): readonly string[] {
    const record = new RolloutRecord({});
    const judge = new AuditJudge(record);
    for (const [parts, by] of writes) {
      const written = node('a', parts);
      if (by !== undefined) judge.line(wrote(written.resourceVersion, by));
      record.nodeSeen(written, 0);
    }
    return problemsAtRest(record, 'worker')
      .map(({ invariant, subject, text }) => `${invariant} ${subject}: ${text}`)
      .filter((line) => line.startsWith('I2'));
  }

  test.each<[string, readonly Write[]]>([
    ['Slipway took its mark away and left the cordon', [[{}], [OURS, WORKER], [BARE, WORKER]]],
    ['Slipway set it without one', [[{}], [BARE, WORKER]]],
    ['whoever writes the node afterwards', [[{}], [BARE, WORKER], [{ ...BARE, ready: false }]]],
  ])('%s', (_what, writes) => {
    expect(leftAfter(...writes)).toEqual([FOUND]);
  });

  test.each<[string, readonly Write[]]>([
    ["a person's", [[{}], [BARE]]],
    ["a person's that Slipway finds", [[{}], [BARE], [{ ...BARE, ready: false }, WORKER]]],
    [
      'there before anybody looked',
      [
        [BARE, WORKER],
        [{ ...BARE, ready: false }, WORKER],
      ],
    ],
    [
      'ours, there before anybody looked',
      [
        [OURS, WORKER],
        [BARE, WORKER],
      ],
    ],
    ['ours, of which a person took the mark away', [[{}], [OURS, WORKER], [BARE]]],
    [
      'ours, beside which a person applied theirs, also when they want it no longer',
      [[{}], [OURS, WORKER], [{ ...OURS, ...APPLIED }], [{ ...BARE, ...APPLIED }, WORKER], [BARE]],
    ],
    [
      'ours, and set again by a person before our mark was gone',
      [[{}], [OURS, WORKER], [{ annotations: byUpdate('a') }], [OURS], [BARE, WORKER]],
    ],
    ['ours, and taken away', [[{}], [BARE, WORKER], [{}, WORKER]]],
    ['ours, and then set by a person', [[{}], [BARE, WORKER], [{}, WORKER], [BARE]]],
  ])('not %s', (_what, writes) => {
    expect(leftAfter(...writes)).toEqual([]);
  });

  test('nor on a node of the same name that was registered since', () => {
    const record = new RolloutRecord({});
    const judge = new AuditJudge(record);
    record.nodeSeen(node('a'), 0);
    const left = node('a', BARE);
    judge.line(wrote(left.resourceVersion));
    record.nodeSeen(left, 1);
    expect(record.cordonLeftBy('a')).toBe(WORKER);
    record.nodeGone('a');
    record.nodeSeen(node('a', BARE), 2);
    expect(record.cordonLeftBy('a')).toBeUndefined();
  });
});

test('pods that were deleted as a list', () => {
  const record = new RolloutRecord({});
  new AuditJudge(record).line(removed({ verb: 'deletecollection' }));
  expect(texts(record)).toEqual([`I3 pod shop/cart-1: ${WORKER} deleted it without an eviction`]);
});

test('a pod that was deleted, and not evicted', () => {
  const record = new RolloutRecord({});
  const judge = new AuditJudge(record);
  judge.line(removed({ responseStatus: { code: 404 } }));
  judge.line(removed({ user: { username: 'alice' } }));
  judge.line(removed({ stage: 'RequestReceived' }));
  expect(texts(record)).toEqual([]);
  judge.line(removed());
  expect(texts(record)).toEqual([`I3 pod shop/cart-1: ${WORKER} deleted it without an eviction`]);
});

describe('a line that a killed API server left half written', () => {
  const begun = '{"kind":"Event","apiVersion":"audit.k8s.io/v1","stage":"Resp';

  test.each([
    ['is passed over', begun, []],
    [
      'does not hide the one that was written behind it',
      '',
      [`I3 pod shop/cart-1: ${WORKER} deleted it without an eviction`],
    ],
  ])('%s', (_what, line, found) => {
    const record = new RolloutRecord({});
    const judge = new AuditJudge(record);
    const event = JSON.stringify({
      kind: 'Event',
      apiVersion: 'audit.k8s.io/v1',
      ...asObject(removed()),
    });
    judge.line(line === '' ? `${begun}${event}` : line);
    expect(texts(record)).toEqual(found);
  });

  test('is distinguished from what is no audit log at all', () => {
    const judge = new AuditJudge(new RolloutRecord({}));
    expect(() => judge.line('panic: all goroutines')).toThrow(SyntaxError);
  });
});

function asObject(line: string): object {
  return JSON.parse(line) as object;
}
