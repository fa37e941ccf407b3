// Copies what the processes of a cluster need into one directory: the compiled program, and the packages that it
// loads, without their types, sources and native modules for other machines. Needs a built dist/.
//
//   node tools/setup/image-tree.mjs OUT
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { billOfMaterials } from './bill-of-materials.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, '..', '..');
const [out] = process.argv.slice(2);
if (out === undefined) throw new Error('name the directory: node tools/setup/image-tree.mjs OUT');

/** They bundle workflows, which is done when Slipway is built. Loaded all the same, so a stand-in takes their place. */
const ABSENT = new Set([
  'webpack',
  'memfs',
  'unionfs',
  'source-map-loader',
  'swc-loader',
  '@swc/core',
]);
/** Of dist/: what only developers run. */
const NOT_SHIPPED = new Set([
  'bench',
  'demo',
  'test',
  'tools',
  'host-bundle',
  'chart',
  'image',
  'workflow-bundle.js.inputs',
]);
const NEEDLESS = /\.(d\.[cm]?ts|map|md|markdown|flow)$/;
/** At the top of a package. */
const NEEDLESS_FOLDERS = new Set([
  'node_modules',
  'test',
  'tests',
  '__tests__',
  'docs',
  'example',
  'examples',
  '.github',
]);
const TARGETS = { x64: 'x86_64-unknown-linux-gnu', arm64: 'aarch64-unknown-linux-gnu' };

rmSync(out, { recursive: true, force: true });
mkdirSync(join(out, 'dist'), { recursive: true });
for (const name of ['package.json', 'LICENSE', 'bin']) copy(join(root, name), join(out, name));
copy(join(root, 'deploy', 'templates'), join(out, 'deploy', 'templates'));
for (const part of readdirSync(join(root, 'dist'))) {
  if (!NOT_SHIPPED.has(part)) copy(join(root, 'dist', part), join(out, 'dist', part));
}
const packages = reachable();
for (const [directory, { name }] of packages) {
  const to = join(out, relative(root, directory));
  if (ABSENT.has(name)) standIn(name, to);
  else copyPackage(name, directory, to);
}
writeFileSync(
  join(out, 'sbom.spdx.json'),
  `${JSON.stringify(billOfMaterials([...packages.values()].filter(({ name }) => !ABSENT.has(name))), null, 1)}\n`,
);
process.stdout.write(`slipway: ${packages.size} packages in ${out}\n`);

/** Directory → package, of those that the program loads. */
function reachable() {
  const found = new Map();
  const visit = (from, name) => {
    const directory = resolve(from, name);
    if (directory === undefined || found.has(directory)) return;
    const manifest = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'));
    found.set(directory, manifest);
    if (ABSENT.has(name)) return;
    const { dependencies = {}, peerDependencies = {} } = manifest;
    for (const next of Object.keys({ ...dependencies, ...peerDependencies })) {
      if (!next.startsWith('@types/')) visit(directory, next);
    }
  };
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  for (const name of Object.keys(dependencies)) visit(root, name);
  return found;
}

/** As Node does; undefined = not installed, as a peer that nobody needs. */
function resolve(from, name) {
  for (let directory = from; ; directory = dirname(directory)) {
    const candidate = join(directory, 'node_modules', name);
    if (existsSync(join(candidate, 'package.json'))) return candidate;
    if (directory === root) return undefined;
  }
}

function copyPackage(name, from, to) {
  const isNative = name === '@temporalio/core-bridge';
  const wanted = TARGETS[process.arch];
  copy(from, to, (path) => {
    const [top, second] = relative(from, path).split(sep);
    if (NEEDLESS_FOLDERS.has(top) || NEEDLESS.test(path)) return false;
    if (!isNative) return true;
    return (
      top !== 'sdk-core' &&
      top !== 'src' &&
      !(top === 'releases' && second !== undefined && second !== wanted)
    );
  });
}

function standIn(name, to) {
  mkdirSync(to, { recursive: true });
  writeFileSync(
    join(to, 'package.json'),
    JSON.stringify({ name, version: '0.0.0', main: 'index.cjs' }),
  );
  cpSync(join(here, 'host-bundle-absent.cjs'), join(to, 'index.cjs'));
}

function copy(from, to, filter = () => true) {
  cpSync(from, to, { recursive: true, filter: (path) => path === from || filter(path) });
}
