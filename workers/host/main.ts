/**
 * Entry of the bundle for machines, `slipway-host.cjs`: commands of `slipway`, with the same
 * options and exit codes.
 */

import { parseArgs } from 'node:util';
import { messageOf } from '../../core/errors';
import { HOST_WORKER_FLAGS, MACHINE_FLAGS, type HostWorkerFlag } from './flags';
import { keepHeapSmall } from './v8-memory';

const USAGE =
  'usage: slipway host-worker | host-settle | host-first-boot | host status [-o json] | host settle';
const FAILED = 4;
const WRONG_USAGE = 2;

type Run = (argv: readonly string[], signal: AbortSignal) => Promise<number>;

const environment = process.env;
const console = { environment, write: (text: string) => process.stdout.write(text) };

/** Loaded only when it runs: `host-settle` and `host status` need no Temporal. */
const COMMANDS: Readonly<Record<string, Run>> = {
  async 'host-worker'(argv, signal) {
    const { runHostWorker } = await import('./worker.js');
    await runHostWorker(readFlags(argv, HOST_WORKER_FLAGS), signal, environment);
    return 0;
  },
  async 'host-settle'(argv, signal) {
    const { runHostSettle } = await import('./settle-program.js');
    await runHostSettle(readFlags(argv, MACHINE_FLAGS), signal, environment);
    return 0;
  },
  async 'host-first-boot'(argv, signal) {
    const { runHostFirstBoot } = await import('./first-boot-program.js');
    await runHostFirstBoot(readFlags(argv, MACHINE_FLAGS), signal, environment);
    return 0;
  },
  async 'host status'(argv) {
    const { printHostStatus } = await import('./console.js');
    const { output, ...flags } = readFlags(argv, MACHINE_FLAGS, ['output']);
    if (output !== undefined && output !== 'table' && output !== 'json') throw usage();
    return (await printHostStatus(flags, output ?? 'table', console)) ? 0 : FAILED;
  },
  async 'host settle'(argv, signal) {
    const { settleHere } = await import('./console.js');
    await settleHere(readFlags(argv, MACHINE_FLAGS), signal, console);
    return 0;
  },
};

function usage(): Error {
  return Object.assign(new Error(USAGE), { name: 'SettingsError' });
}

/** `--server-url X` is the setting `serverUrl`. */
function readFlags(
  argv: readonly string[],
  flags: readonly HostWorkerFlag[],
  more: readonly string[] = [],
): Record<string, unknown> {
  const names = [...flags.map(({ setting }) => setting), ...more];
  const kebab = (name: string): string => name.replace(/[A-Z]/g, (at) => `-${at.toLowerCase()}`);
  const repeated = new Set(flags.flatMap((flag) => (flag.repeated ? [flag.setting] : [])));
  const options = Object.fromEntries(
    names.map((name) => [
      kebab(name),
      {
        type: 'string' as const,
        ...(repeated.has(name) ? { multiple: true } : {}),
        ...(name === 'output' ? { short: 'o' } : {}),
      },
    ]),
  );
  try {
    const { values } = parseArgs({ args: [...argv], options });
    return Object.fromEntries(names.map((name) => [name, values[kebab(name)]]));
  } catch (error) {
    throw Object.assign(new Error(messageOf(error)), { name: 'SettingsError' });
  }
}

async function main([first = '', second = '', ...rest]: readonly string[]): Promise<number> {
  keepHeapSmall();
  const stop = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort(name));
  const isHost = first === 'host';
  const run = COMMANDS[isHost ? `host ${second}` : first];
  if (run === undefined) throw usage();
  return run(isHost ? rest : [second, ...rest].filter((word) => word !== ''), stop.signal);
}

main(process.argv.slice(2)).then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    process.stderr.write(`slipway: ${messageOf(error)}\n`);
    const isSettings = error instanceof Error && error.name === 'SettingsError';
    process.exitCode = isSettings ? WRONG_USAGE : FAILED;
  },
);
