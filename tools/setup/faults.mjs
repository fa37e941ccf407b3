// `npm run faults -- [--rounds N] [--seed S] [--only TEXT] [--write]`: strikes real processes and counts.
// Rounds go through the whole table (docs/reliability.md); without them it is what `npm run test:all` does.
// `--write` puts the counts into docs/reliability.md, in place of those of the same suites, with the rounds and
// the commit that they are from; `--into FILE` into another document. A run of fewer rounds than those are from is
// refused, unless `--fewer-rounds` is given. `--from FILE` takes the counts of an earlier run (`.slipway/faults.jsonl`
// is the last) instead of running anything. Exit status 1 when a promise was broken, or the run is refused; nothing
// is written then.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { tablesOf, textOf, whyNot, withTables } from './fault-table.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const { values } = parseArgs({
  options: {
    rounds: { type: 'string' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string' },
    from: { type: 'string' },
    write: { type: 'boolean', default: false },
    'fewer-rounds': { type: 'boolean', default: false },
    into: { type: 'string', default: join(root, 'docs', 'reliability.md') },
  },
});
// Without rounds: the part of the table that the tests strike by themselves, which they take 0 for.
const rounds = values.rounds === undefined ? 0 : wholeNumber('--rounds', values.rounds, 1);
const seed = wholeNumber('--seed', values.seed, 0);
const results = join(root, '.slipway', 'faults.jsonl');
const status = values.from === undefined ? strike() : 0;
const file = values.from ?? results;
if (values.from !== undefined && !existsSync(file)) refuse(`--from: there is no ${file}`);
const survived = existsSync(file)
  ? readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line))
  : [];
const ran = tablesOf(survived);
process.stdout.write(`\n${textOf(ran)}\n`);
if (!values.write || status !== 0) process.exit(status);
process.exit(write() ? 0 : 1);

/** Whether the document may have what ran. */
function write() {
  const document = readFileSync(values.into, 'utf8');
  const refusal = values['fewer-rounds'] ? undefined : whyNot(document, ran);
  if (refusal === undefined) writeFileSync(values.into, withTables(document, ran));
  else process.stderr.write(`${refusal}\n`);
  return refusal === undefined;
}

/** As test/faults takes it; said here, before anything is built and started for it. */
function wholeNumber(flag, text, least) {
  const value = /^\d+$/.test(text) ? Number(text) : NaN;
  if (Number.isSafeInteger(value) && value >= least) return value;
  return refuse(`${flag}: give a whole number from ${least} on, not ${text}`);
}

function refuse(why) {
  process.stderr.write(`${why}\n`);
  process.exit(1);
}

function strike() {
  rmSync(results, { force: true });
  const test = join(root, 'tools', 'setup', 'test.mjs');
  const only = ['--testPathPatterns', values.only ?? 'test/faults'];
  const { status: ended } = spawnSync(process.execPath, [test, 'faults', ...only], {
    cwd: root,
    stdio: 'inherit',
    env: {
      ...process.env,
      SLIPWAY_FAULTS_ROUNDS: String(rounds),
      SLIPWAY_FAULTS_SEED: String(seed),
    },
  });
  return ended ?? 1;
}
