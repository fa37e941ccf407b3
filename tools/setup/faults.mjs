// `npm run faults -- [--rounds N] [--seed S] [--only TEXT] [--write]`: strikes real processes and counts.
// Rounds go through the whole table (docs/reliability.md); without them it is what `npm test` does.
// `--write` puts the counts into docs/reliability.md, in place of those of the same suites, with the rounds and
// the commit that they are from; `--into FILE` into another document. `--from FILE` takes those of an earlier run
// instead of running anything. Exit status 1 when a promise was broken; nothing is written then.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { tablesOf, textOf, withTables } from './fault-table.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '0' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string' },
    from: { type: 'string' },
    write: { type: 'boolean', default: false },
    into: { type: 'string', default: join(root, 'docs', 'reliability.md') },
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
const ran = tablesOf(survived);
process.stdout.write(`\n${textOf(ran)}\n`);
if (values.write && status === 0) {
  writeFileSync(values.into, withTables(readFileSync(values.into, 'utf8'), ran));
}
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
