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

interface Written {
  readonly status: number | null;
  readonly stderr: string;
  readonly document: string;
}

/** Writes the survived faults of a run into the document. */
function run(document: string, faults: readonly object[], ...flags: readonly string[]): Written {
  const [from, into] = [join(directory, 'faults.jsonl'), join(directory, 'document.md')];
  writeFileSync(from, faults.map((one) => `${JSON.stringify(one)}\n`).join(''));
  writeFileSync(into, document);
  const program = join(repositoryRoot(), 'tools', 'setup', 'faults.mjs');
  const args = [program, '--write', '--from', from, '--into', into, ...flags];
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  return { status, stderr, document: readFileSync(into, 'utf8') };
}

function write(document: string, faults: readonly object[], ...flags: readonly string[]): string {
  const { status, stderr, document: written } = run(document, faults, ...flags);
  expect([status, stderr]).toEqual([0, '']);
  return written;
}

const rowsOf = (document: string): readonly string[] =>
  document
    .split('\n')
    .filter((line) => line.startsWith('|') && !line.startsWith('| -'))
    .map((line) => line.replace(/ +\|/g, ' |'));

const HEADER = '| suite | process | fault: survived | where | outcome | checks |';
const ENDS = {
  disks: '| its node is as it was and says why, or is slow; then completed | I1 to I7 (no pods) |',
  two: '| completed, one reboot each | I1 to I7 |',
  clock: '| completed; too late by hours: taken back, then completed | I1 to I7 |',
};

const fault = (suite: string, rounds: number, commit: string) => ({
  ...{ suite, victim: 'server', blow: 'freeze', boundary: 'Rebooting' },
  from: { commit, rounds, seed: 1 },
});

test('rows of the suites that ran are replaced, the others stay, and each names its source', () => {
  const first = write(DOCUMENT, [fault('two', 2, 'abc1234'), fault('clock', 0, 'abc1234')]);
  expect(rowsOf(first)).toEqual([
    HEADER,
    `| disks | etcd | kill: 1 | Applying ${ENDS.disks}`,
    `| two | server | freeze: 1 | Rebooting ×1 ${ENDS.two}`,
    `| clock | server | freeze: 1 | Rebooting ×1 ${ENDS.clock}`,
    '| suite | rounds | seed | commit |',
    '| disks | not noted | not noted | not noted |',
    '| two | 2 | 1 | abc1234 |',
    '| clock | as `npm test` | 1 | abc1234 |',
  ]);
  expect(first).toMatch(/^# Before\n[^]*\nAfter\n$/);

  const second = write(first, [fault('disks', 1, 'def5678')]);
  expect(rowsOf(second)).toEqual([
    HEADER,
    `| disks | server | freeze: 1 | Rebooting ×1 ${ENDS.disks}`,
    `| two | server | freeze: 1 | Rebooting ×1 ${ENDS.two}`,
    `| clock | server | freeze: 1 | Rebooting ×1 ${ENDS.clock}`,
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
  const { status, stderr, document } = run(DOCUMENT, [fault('fire', 0, 'abc1234')]);

  expect([status, stderr]).toEqual([1, expect.stringContaining('the suite fire')]);
  expect(document).toBe(DOCUMENT);
});

test('each process has a row, which counts its faults and the boundaries at which they struck', () => {
  const strike = (victim: string, blow: string, boundary?: string) => ({
    ...fault('two', 2, 'abc1234'),
    ...{ victim, blow, boundary },
  });

  const written = write(DOCUMENT, [
    strike('server', 'kill', 'Draining'),
    strike('etcd', 'freeze', 'Verifying'),
    strike('server', 'freeze', 'Rebooting'),
    strike('server', 'kill', 'to the end'),
    strike('server', 'kill', 'Preparing'),
    strike('etcd', 'kill'),
    strike('server', 'kill', 'Draining'),
  ]);

  expect(rowsOf(written).filter((row) => row.startsWith('| two'))).toEqual([
    `| two | server | kill: 4, freeze: 1 | Preparing ×1, Draining ×2, Rebooting ×1, to the end ×1 ${ENDS.two}`,
    `| two | etcd | kill: 1, freeze: 1 | Verifying ×1, at random ×1 ${ENDS.two}`,
    '| two | 2 | 1 | abc1234 |',
  ]);
});

describe('a campaign of three rounds that is in the document', () => {
  let campaign: string;
  beforeEach(() => {
    campaign = write(DOCUMENT, [fault('two', 3, 'abc1234'), fault('disks', 0, 'abc1234')]);
  });

  it.each([
    [0, 'as `npm test`'],
    [2, '2'],
  ])('is not replaced by a run of %i, and nothing is written', (rounds, named) => {
    const ran = [fault('disks', 5, 'def5678'), fault('two', rounds, 'def5678')];

    const { status, stderr, document } = run(campaign, ran);

    expect([status, stderr]).toEqual([
      1,
      `the suite two ran in fewer rounds (${named}) than its rows in the document (3): nothing is written. ` +
        '--fewer-rounds replaces them all the same, --from without another run\n',
    ]);
    expect(document).toBe(campaign);
  });

  it.each([
    [3, []],
    [12, []],
    [0, ['--fewer-rounds']],
  ])('is replaced by a run of %i with the flags %j', (rounds, flags) => {
    const written = write(campaign, [fault('two', rounds, 'def5678')], ...flags);

    expect(rowsOf(written).at(-1)).toBe(
      `| two | ${rounds === 0 ? 'as `npm test`' : rounds} | 1 | def5678 |`,
    );
  });

  it('is as long as its longest part', () => {
    const parts = [fault('two', 12, 'def5678'), fault('two', 3, 'abc1234')];
    const both = write(campaign, parts);

    expect(run(both, [fault('two', 4, 'def5678')]).status).toBe(1);
    expect(rowsOf(both).at(-1)).toBe('| two | 12, 3 | 1 | def5678, abc1234 |');
  });
});

test.each([
  ['--rounds', 'abc', 1],
  ['--rounds', '-1', 1],
  ['--rounds', '0.5', 1],
  ['--rounds', '0', 1],
  ['--rounds', '', 1],
  ['--seed', 'x', 0],
  ['--seed', '', 0],
])('%s=%s is refused: a campaign that strikes nothing survives everything', (flag, text, least) => {
  const { status, stderr, document } = run(
    DOCUMENT,
    [fault('two', 2, 'abc1234')],
    `${flag}=${text}`,
  );

  expect(stderr).toBe(`${flag}: give a whole number from ${least} on, not ${text}\n`);
  expect(status).toBe(1);
  expect(document).toBe(DOCUMENT);
});

test('counts of an earlier run that is not there are refused', () => {
  const nowhere = join(directory, 'nowhere.jsonl');
  const { status, stderr } = run(DOCUMENT, [], '--from', nowhere);

  expect(stderr).toBe(`--from: there is no ${nowhere}\n`);
  expect(status).toBe(1);
});
