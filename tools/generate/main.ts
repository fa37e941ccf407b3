/** Writes the generated documents; with `--check`, exits 1 when the committed ones differ. */

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { errorsDocument } from './errors-document';
import { lifecycleGraph } from './lifecycle-diagram';
import { cliDocument } from './cli-document';

const GENERATED: Readonly<Record<string, () => string>> = {
  'docs/errors.md': errorsDocument,
  'docs/cli.md': cliDocument,
  'docs/lifecycle.dot': lifecycleGraph,
};

function main(): void {
  // dist/tools/generate/main.js → the repository
  const root = join(__dirname, '..', '..', '..');
  const check = process.argv.includes('--check');
  const stale = Object.entries(GENERATED).filter(([file, make]) => {
    const path = join(root, file);
    const wanted = make();
    if (!check) {
      writeFileSync(path, wanted);
      return false;
    }
    return readFileSync(path, 'utf8') !== wanted;
  });
  if (stale.length > 0) {
    process.stderr.write(
      `${stale.map(([file]) => `${file} is out of date`).join('\n')}\nrun \`npm run generate\` and commit the result\n`,
    );
    process.exit(1);
  }
}

main();
