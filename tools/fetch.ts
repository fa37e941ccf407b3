import { BINARY_NAMES, CLUSTER_BINARY_NAMES, ensureBinary } from './binaries';
import { ensurePostgres } from './postgres/programs';

/** The package of the distribution. */
const POSTGRESQL = 'postgresql';
const NAMES = [...BINARY_NAMES, POSTGRESQL] as const;

/** Prints the paths of the named programs, or of all that the demo needs. */
async function main(): Promise<void> {
  const wanted = process.argv.slice(2);
  for (const name of wanted.length === 0 ? CLUSTER_BINARY_NAMES : wanted.map(known))
    process.stdout.write(`${name}\t${await pathOf(name)}\n`);
}

async function pathOf(name: (typeof NAMES)[number]): Promise<string> {
  return name === POSTGRESQL ? (await ensurePostgres()).directory : ensureBinary(name);
}

function known(name: string): (typeof NAMES)[number] {
  const found = NAMES.find((one) => one === name);
  if (found !== undefined) return found;
  throw new Error(`there is no program ${name}; there are ${NAMES.join(', ')}`);
}

main().catch((error: unknown) => {
  process.stderr.write(`slipway: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
