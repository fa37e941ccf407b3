// `npm run faults -- [--rounds N] [--seed S] [--only TEXT] [--write]`: strikes real processes and counts.
// Rounds go through the whole table (docs/reliability.md); without them it is what `npm test` does.
// `--write` puts the counts into docs/reliability.md; `--from FILE` takes those of earlier runs instead of
// running anything. Exit status 1 when a promise was broken.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '0' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string' },
    from: { type: 'string' },
    write: { type: 'boolean', default: false },
  },
});
const results = join(root, '.slipway', 'faults.jsonl');
const status = values.from === undefined ? strike() : 0;
const file = values.from ?? results;
const survived = existsSync(file)
  ? readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line))
  : [];
const table = tableOf(survived);
process.stdout.write(`\n${table}\n`);
if (values.write && status === 0) writeInto(join(root, 'docs', 'reliability.md'), table);
process.exit(status);

function strike() {
  rmSync(results, { force: true });
  const test = join(root, 'tools', 'setup', 'test.mjs');
  const only = values.only === undefined ? [] : ['--testPathPatterns', values.only];
  const { status: ended } = spawnSync(process.execPath, [test, 'faults', ...only], {
    cwd: root,
    stdio: 'inherit',
    env: {
      ...process.env,
      SLIPWAY_FAULTS_ROUNDS: values.rounds,
      SLIPWAY_FAULTS_SEED: values.seed,
    },
  });
  return ended ?? 1;
}

/** One row for each suite and process: what it survived how often, and where. */
function tableOf(faults) {
  const rows = new Map();
  for (const { suite, victim, blow, boundary = 'at random' } of faults) {
    const row = rows.get(`${suite}|${victim}`) ?? {
      suite,
      victim,
      blows: new Map(),
      where: new Set(),
    };
    row.blows.set(blow, (row.blows.get(blow) ?? 0) + 1);
    row.where.add(boundary);
    rows.set(`${suite}|${victim}`, row);
  }
  const cells = [...rows.values()].map(({ suite, victim, blows, where }) => [
    suite,
    victim,
    [...blows].map(([blow, count]) => `${blow}: ${count}`).join(', '),
    [...where].join(', '),
  ]);
  const all = [['suite', 'process', 'fault: survived', 'where'], ...cells];
  const widths = all[0].map((_, column) => Math.max(...all.map((row) => row[column].length)));
  const line = (row) => `| ${row.map((cell, at) => cell.padEnd(widths[at])).join(' | ')} |`;
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`;
  return [line(all[0]), rule, ...cells.map(line)].join('\n');
}

/** Between the marks, so that prose around it stays. */
function writeInto(file, text) {
  const [begin, end] = [
    '<!-- faults: counted by `npm run faults -- --write` -->',
    '<!-- /faults -->',
  ];
  const document = readFileSync(file, 'utf8');
  const [before, rest = ''] = document.split(begin);
  const [, after] = rest.split(end);
  if (after === undefined) throw new Error(`${file} has no marks for the table`);
  writeFileSync(file, `${before}${begin}\n\n${text}\n\n${end}${after}`);
}
