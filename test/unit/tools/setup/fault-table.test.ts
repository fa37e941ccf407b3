import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { repositoryRoot } from '../../../../tools/repository-root';

const DOCUMENT = `# Before

<!-- faults: counted by \`npm run faults -- --write\` -->

| suite | process | fault: survived | where    |
| ----- | ------- | --------------- | -------- |
| disks | etcd    | kill: 1         | Applying |
| two   | etcd    | kill: 2         | Draining |
| two   | server  | kill: 3         | Draining |

<!-- /faults -->

After
`;

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'slipway-fault-table-'));
});
afterEach(() => {
  rmSync(directory, { recursive: true });
});

/** Puts what a run has survived into the document. */
function write(document: string, faults: readonly object[]): string {
  const [from, into] = [join(directory, 'faults.jsonl'), join(directory, 'document.md')];
  writeFileSync(from, faults.map((fault) => `${JSON.stringify(fault)}\n`).join(''));
  writeFileSync(into, document);
  const program = join(repositoryRoot(), 'tools', 'setup', 'faults.mjs');
  const args = [program, '--write', '--from', from, '--into', into];
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  expect([status, stderr]).toEqual([0, '']);
  return readFileSync(into, 'utf8');
}

const rowsOf = (document: string): readonly string[] =>
  document
    .split('\n')
    .filter((line) => line.startsWith('|') && !line.startsWith('| -'))
    .map((line) => line.replace(/ +\|/g, ' |'));

const HEADER = '| suite | process | fault: survived | where | outcome | checks |';
const ENDS = {
  disks: '| its node is as it was and says why, or is slow; then completed | I1 to I7 |',
  two: '| completed, one reboot each | I1 to I7 |',
  clock: '| completed; too late by hours: taken back, then completed | I1 to I7 |',
};

const fault = (suite: string, rounds: number, commit: string) => ({
  ...{ suite, victim: 'server', blow: 'freeze', boundary: 'Rebooting' },
  from: { commit, rounds, seed: 1 },
});

test('rows of the suites that ran are replaced, the others stay, and each says what it is from', () => {
  const first = write(DOCUMENT, [fault('two', 2, 'abc1234'), fault('clock', 0, 'abc1234')]);
  expect(rowsOf(first)).toEqual([
    HEADER,
    `| disks | etcd | kill: 1 | Applying ${ENDS.disks}`,
    `| two | server | freeze: 1 | Rebooting ${ENDS.two}`,
    `| clock | server | freeze: 1 | Rebooting ${ENDS.clock}`,
    '| suite | rounds | seed | commit |',
    '| disks | not noted | not noted | not noted |',
    '| two | 2 | 1 | abc1234 |',
    '| clock | as `npm test` | 1 | abc1234 |',
  ]);
  expect(first).toMatch(/^# Before\n[^]*\nAfter\n$/);

  const second = write(first, [fault('disks', 1, 'def5678')]);
  expect(rowsOf(second)).toEqual([
    HEADER,
    `| disks | server | freeze: 1 | Rebooting ${ENDS.disks}`,
    `| two | server | freeze: 1 | Rebooting ${ENDS.two}`,
    `| clock | server | freeze: 1 | Rebooting ${ENDS.clock}`,
    '| suite | rounds | seed | commit |',
    '| disks | 1 | 1 | def5678 |',
    '| two | 2 | 1 | abc1234 |',
    '| clock | as `npm test` | 1 | abc1234 |',
  ]);
});

test('a run in which nothing was counted changes no count', () => {
  expect(rowsOf(write(DOCUMENT, []))).toEqual([
    HEADER,
    `| disks | etcd | kill: 1 | Applying ${ENDS.disks}`,
    `| two | etcd | kill: 2 | Draining ${ENDS.two}`,
    `| two | server | kill: 3 | Draining ${ENDS.two}`,
    '| suite | rounds | seed | commit |',
    '| disks | not noted | not noted | not noted |',
    '| two | not noted | not noted | not noted |',
  ]);
});

test('a suite of which nobody has said how its faults end is refused, and nothing is written', () => {
  const [from, into] = [join(directory, 'faults.jsonl'), join(directory, 'document.md')];
  writeFileSync(from, JSON.stringify(fault('fire', 0, 'abc1234')));
  writeFileSync(into, DOCUMENT);
  const program = join(repositoryRoot(), 'tools', 'setup', 'faults.mjs');

  const { status, stderr } = spawnSync(
    process.execPath,
    [program, '--write', '--from', from, '--into', into],
    { encoding: 'utf8' },
  );

  expect([status, stderr]).toEqual([1, expect.stringContaining('the suite fire')]);
  expect(readFileSync(into, 'utf8')).toBe(DOCUMENT);
});
