// One jest project of `npm test`, in its own process group and with a time limit.
import { once } from 'node:events';
import { join } from 'node:path';
import { endGroup, isStopped, startGroup } from './test-processes.mjs';

/** One file after the other: each starts a whole cluster. */
const ONE_BY_ONE = new Set(['integration', 'e2e', 'faults', 'hosts']);
/** Half of the cores when it runs beside another project. */
const BESIDE_ANOTHER = ['--maxWorkers=50%'];
/**
 * Of everything. What hangs is ended and counted, and the others still are. The slowest, with machines that
 * boot, takes 50 on two cores that all projects share. Whoever runs one project alone, for hours maybe, ends it.
 */
const LIMIT_MINUTES = 70;
const ALL_DAY = 24 * 60;
/** Between SIGTERM and SIGKILL. */
const GRACE_MS = 30_000;

/**
 * Runs it to its end. Beside another one, what it printed is written as one piece.
 *
 * @param {{ root: string, title: string, name: string, outputFile: string, rest: readonly string[],
 *   alone: boolean }} project - `title` = by which it is announced: a project may be run in parts
 * @returns {Promise<number | null>} jest's exit status; null when it was ended, or not even begun
 */
export async function runProject({ root, title, name, outputFile, rest, alone }) {
  if (isStopped()) return null;
  const started = Date.now();
  process.stdout.write(`== ${title} tests …\n`);
  const [command, args] = commandOf(root, name, [
    ...['--selectProjects', name, '--json', `--outputFile=${outputFile}`],
    ...(ONE_BY_ONE.has(name) ? ['--runInBand'] : alone ? [] : BESIDE_ANOTHER),
    ...rest,
  ]);
  // `--json` also prints the results to standard output; the human report goes to standard error.
  const child = startGroup(root, command, args, ['ignore', 'ignore', alone ? 'inherit' : 'pipe']);
  const said = [];
  child.stderr?.on('data', (chunk) => said.push(chunk));
  const minutes = alone ? ALL_DAY : LIMIT_MINUTES;
  let limit = setTimeout(() => {
    said.push(Buffer.from(`\nslipway: ${title} took over ${minutes} minutes and was ended\n`));
    endGroup(child, 'SIGTERM');
    limit = setTimeout(() => endGroup(child, 'SIGKILL'), GRACE_MS);
  }, minutes * 60_000);
  try {
    const [status] = await once(child, 'close');
    return status;
  } finally {
    clearTimeout(limit);
    const seconds = Math.round((Date.now() - started) / 1000);
    process.stdout.write(`\n== ${title}: ${seconds} s\n${Buffer.concat(said).toString()}`);
  }
}

function commandOf(root, name, args) {
  const jest = join(root, 'node_modules', '.bin', 'jest');
  // What is mounted over the disk of a host goes with the run, however that ends.
  const mounts = name === 'faults' && process.getuid?.() === 0 && process.platform === 'linux';
  if (mounts) return ['unshare', ['--mount', '--propagation', 'private', jest, ...args]];
  if (name !== 'hosts') return [jest, args];
  return [join(root, 'tools', 'setup', 'in-namespace.sh'), [jest, ...args]];
}
