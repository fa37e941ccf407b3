import { BINARY_NAMES, ensureBinary } from './binaries';

/** Makes every program of the development servers available and prints where each is. */
async function main(): Promise<void> {
  for (const name of BINARY_NAMES) process.stdout.write(`${name}\t${await ensureBinary(name)}\n`);
}

main().catch((error: unknown) => {
  process.stderr.write(`slipway: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
