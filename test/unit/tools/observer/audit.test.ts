import { AuditJudge } from '../../../../tools/observer/audit';
import { RolloutRecord } from '../../../../tools/observer/record';
import { node } from './objects';

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

  test('is told from what is no audit log at all', () => {
    const judge = new AuditJudge(new RolloutRecord({}));
    expect(() => judge.line('panic: all goroutines')).toThrow(SyntaxError);
  });
});

function asObject(line: string): object {
  return JSON.parse(line) as object;
}
