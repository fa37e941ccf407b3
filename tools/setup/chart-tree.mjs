// Copies the Helm chart, and the manifests that it renders, into one directory, which helm installs or packages.
//
//   node tools/setup/chart-tree.mjs OUT
import { cpSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const deploy = join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'deploy');
const [out] = process.argv.slice(2);
if (out === undefined) throw new Error('name the directory: node tools/setup/chart-tree.mjs OUT');

rmSync(out, { recursive: true, force: true });
cpSync(join(deploy, 'chart'), out, { recursive: true });
for (const part of ['crds', 'rbac', 'base', 'components', 'monitoring']) {
  cpSync(join(deploy, part), join(out, 'files', part), { recursive: true });
}
