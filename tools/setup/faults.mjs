// `npm run faults -- [--rounds N] [--seed S] [--only TEXT] [--write]`: injects faults into real
// processes and counts. Rounds go through the whole table (docs/reliability.md); without `--rounds`
// it runs the sample of `npm run test:all`. `--write` replaces the counts of the same suites in
// docs/reliability.md, `--into FILE` in another document; fewer rounds than there need
// `--fewer-rounds`. `--from FILE` takes the counts of an earlier run (the last is
// `.slipway/faults.jsonl`). Exit status 1, with nothing written, when a promise was broken or the
// run is refused.
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
// 0 = the sample of `npm run test:all`.
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

/** @returns whether the document was written */
function write() {
  const document = readFileSync(values.into, 'utf8');
  const refusal = values['fewer-rounds'] ? undefined : whyNot(document, ran);
  if (refusal === undefined) writeFileSync(values.into, withTables(document, ran));
  else process.stderr.write(`${refusal}\n`);
  return refusal === undefined;
}

/** The rule of test/faults, checked here before anything is built and started. */
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
