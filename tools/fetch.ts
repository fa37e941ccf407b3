import { BINARY_NAMES, CLUSTER_BINARY_NAMES, ensureBinary } from './binaries';

/** Prints the paths of the named programs, or of all. */
async function main(): Promise<void> {
  const wanted = process.argv.slice(2);
  for (const name of wanted.length === 0 ? CLUSTER_BINARY_NAMES : wanted.map(known))
    process.stdout.write(`${name}\t${await ensureBinary(name)}\n`);
}

function known(name: string): (typeof BINARY_NAMES)[number] {
  const found = BINARY_NAMES.find((one) => one === name);
  if (found !== undefined) return found;
  throw new Error(`there is no program ${name}; there are ${BINARY_NAMES.join(', ')}`);
}

main().catch((error: unknown) => {
  process.stderr.write(`slipway: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
