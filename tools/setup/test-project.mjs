// One jest project of `npm test`, in its own process group and with a time limit.
import { once } from 'node:events';
import { join } from 'node:path';
import { endGroup, isStopped, startGroup } from './test-processes.mjs';

/** One file after the other: each has a whole cluster. */
const ONE_BY_ONE = new Set(['integration', 'e2e', 'faults', 'hosts']);
/**
 * Beside others. A project that hangs is ended and counted, and the others still run: no part takes longer as a
 * whole. A project that runs alone may take hours, and a person ends it.
 */
const LIMIT_MINUTES = 70;
const ALL_DAY = 24 * 60;
/** Between SIGTERM and SIGKILL. */
const GRACE_MS = 30_000;

/**
 * Runs it to its end. Beside another one, what it printed is written as one piece.
 *
 * @param {{ root: string, name: string, outputFile: string, rest: readonly string[], alone: boolean }} project -
 *   `rest` = more arguments of jest
 * @returns {Promise<number | null>} jest's exit status; null when it was ended, or not even begun
 */
export async function runProject({ root, name, outputFile, rest, alone }) {
  if (isStopped()) return null;
  const started = Date.now();
  process.stdout.write(`== ${name} tests …\n`);
  const [command, args] = commandOf(root, name, [
    ...['--selectProjects', name, '--json', `--outputFile=${outputFile}`],
    ...(ONE_BY_ONE.has(name) ? ['--runInBand'] : []),
    ...rest,
  ]);
  // `--json` also prints the results to standard output; the human report goes to standard error.
  const child = startGroup(root, command, args, ['ignore', 'ignore', alone ? 'inherit' : 'pipe']);
  const said = [];
  child.stderr?.on('data', (chunk) => said.push(chunk));
  const minutes = alone ? ALL_DAY : LIMIT_MINUTES;
  let limit = setTimeout(() => {
    said.push(Buffer.from(`\nslipway: ${name} took over ${minutes} minutes and was ended\n`));
    endGroup(child, 'SIGTERM');
    limit = setTimeout(() => endGroup(child, 'SIGKILL'), GRACE_MS);
  }, minutes * 60_000);
  try {
    const [status] = await once(child, 'close');
    return status;
  } finally {
    clearTimeout(limit);
    const seconds = Math.round((Date.now() - started) / 1000);
    process.stdout.write(`\n== ${name}: ${seconds} s\n${Buffer.concat(said).toString()}`);
  }
}

function commandOf(root, name, args) {
  const jest = join(root, 'node_modules', '.bin', 'jest');
  // Mounts over the disk of a host go with the run, however that ends.
  const mounts = name === 'faults' && process.getuid?.() === 0 && process.platform === 'linux';
  if (mounts) return ['unshare', ['--mount', '--propagation', 'private', jest, ...args]];
  if (name !== 'hosts') return [jest, args];
  return [join(root, 'tools', 'setup', 'in-namespace.sh'), [jest, ...args]];
}
