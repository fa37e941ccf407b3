// Which tests a run takes. The name of a file decides: `*.all.test.ts` is for `npm run test:all`, every other
// `*.test.ts` for `npm test`. Together they are all tests, and no file is in both.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * One at a time of each lane: what computes, what starts clusters and mostly waits for them, and
 * machines, which take less than half of one core of two while they boot, wait and are cut off.
 * The first lane begins with what needs no servers, the second with what needs no more than those: on a new machine
 * the rest is fetched and built meanwhile.
 */
export const LANES = [
  ['unit', 'simulation', 'workflow', 'replay'],
  ['e2e', 'faults', 'integration'],
  ['hosts'],
];
/** Of `npm run test:all`: each stays under an hour, also on a machine half as fast. */
export const PARTS = 3;
/** What a file counts that has not been measured. */
const UNKNOWN_SECONDS = 30;
const ONLY_IN_ALL = /\.all\.test\.ts$/;

/**
 * What jest is told to run of each project, one part after the other. A project without files is left out.
 *
 * @param {{ all: boolean, part: Part | undefined, projects: readonly string[], rest: readonly string[] }} wanted -
 *   `rest` goes to jest, which then chooses by itself
 * @returns {readonly Map<string, readonly string[]>[]} project → arguments
 */
export function selectionOf(root, { all, part, projects, rest }) {
  if (rest.length > 0) return [new Map(projects.map((name) => [name, rest]))];
  if (!all) {
    const short = ['--testPathIgnorePatterns', ONLY_IN_ALL.source];
    return [new Map(projects.map((name) => [name, short]))];
  }
  const count = part?.of ?? PARTS;
  const parts = dealt(filesOf(root, projects), secondsOf(root), count);
  return part === undefined ? parts : [parts[part.number - 1]];
}

/**
 * The longest file first, each into the part in which its lane has least to do so far. The same files and the same
 * seconds are always dealt in the same way.
 *
 * @param {readonly { project: string, path: string }[]} files
 * @param {Readonly<Record<string, number>>} seconds
 */
export function dealt(files, seconds, count) {
  const costOf = ({ path }) => seconds[path] ?? UNKNOWN_SECONDS;
  const laneOf = ({ project }) => LANES.findIndex((lane) => lane.includes(project));
  const parts = Array.from({ length: count }, () => ({
    lanes: LANES.map(() => 0),
    total: 0,
    chosen: new Map(),
  }));
  const byCost = [...files].sort(
    (a, b) => costOf(b) - costOf(a) || (a.path < b.path ? -1 : Number(a.path > b.path)),
  );
  for (const file of byCost) {
    const lane = laneOf(file);
    const [least] = [...parts].sort((a, b) => a.lanes[lane] - b.lanes[lane] || a.total - b.total);
    least.lanes[lane] += costOf(file);
    least.total += costOf(file);
    const before = least.chosen.get(file.project) ?? ['--runTestsByPath'];
    least.chosen.set(file.project, [...before, file.path]);
  }
  return parts.map(({ chosen }) => chosen);
}

function filesOf(root, projects) {
  return projects.flatMap((project) =>
    readdirSync(join(root, 'test', project), { recursive: true, encoding: 'utf8' })
      .filter((name) => ONLY_IN_ALL.test(name))
      .map((name) => ({ project, path: `test/${project}/${name}` })),
  );
}

/** As the last run with `--write` measured them (tools/setup/test-report.mjs). */
export function secondsOf(root) {
  return JSON.parse(readFileSync(join(root, 'tools', 'setup', 'test-seconds.json'), 'utf8'));
}

/**
 * @typedef {{ number: number, of: number }} Part
 * @param {readonly string[]} args - of the command line
 * @returns {{ all: boolean, write: boolean, part: Part | undefined, projects: readonly string[], rest: readonly string[] }}
 * @throws Error when the part is none, or is to be measured by itself
 */
export function wantedBy(args) {
  const known = LANES.flat();
  const all = args.includes('--all');
  const at = all ? args.indexOf('part') : -1;
  const part = at < 0 ? undefined : partOf(args[at + 1] ?? '');
  const others = args.filter(
    (argument, index) => argument !== '--all' && (at < 0 || (index !== at && index !== at + 1)),
  );
  const write = others.includes('--write');
  if (write && part !== undefined) {
    throw new Error(
      '--write: run all parts at once. New seconds would deal the files anew, and the parts that follow would miss some.',
    );
  }
  const named = known.filter((name) => others.includes(name));
  return {
    ...{ all, write, part },
    projects: named.length === 0 ? known : named,
    rest: others.filter((argument) => !known.includes(argument) && argument !== '--write'),
  };
}

function partOf(text) {
  const [, number, of] = (/^(\d+)\/(\d+)$/.exec(text) ?? []).map(Number);
  if (number >= 1 && number <= of) return { number, of };
  throw new Error(`part: give k/n with k from 1 to n, as in part 1/${PARTS}, not "${text}"`);
}
