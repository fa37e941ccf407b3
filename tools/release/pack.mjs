// Packs what Slipway's processes need to run, so that later versions can be tested against this one:
// test/upgrade/builds/<version>.tgz with its SHA-256 beside it (docs/upgrading.md). The packages of npm
// are not in it, but their versions are. The same sources give the same bytes. What is packed already
// stays as it is; `--replace` packs a version anew that is not released yet. The histories of the version
// are frozen with it: their SHA-256 are beside the build, as sha256sum writes them.
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

/** Of dist/: what `slipway` and its processes consist of. */
const FOLDERS = [
  'activities',
  'adapters',
  'cli',
  'controllers',
  'core',
  'host',
  'process',
  'server',
  'workers',
  'workflows',
];
/** More would weigh on every clone for ever. */
const LIMIT_BYTES = 1_500_000;

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const json = (path) => JSON.parse(readFileSync(join(root, path), 'utf8'));
const { version, dependencies } = json('package.json');
const archive = join(root, 'test', 'upgrade', 'builds', `${version}.tgz`);
if (existsSync(archive) && !process.argv.includes('--replace')) {
  process.stderr.write(
    `slipway: ${relative(root, archive)} is there. Raise the version in package.json, or pack one anew that is not released: --replace\n`,
  );
  process.exit(1);
}

// In a place of its own: dist/ may hold what earlier sources left.
const work = join(root, '.slipway', 'release');
const compiled = join(work, 'dist');
const packed = join(work, 'packed');
rmSync(work, { recursive: true, force: true });
compile();
collect();
write();

function compile() {
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const options = ['--sourceMap', 'false', '--removeComments'];
  options.push('--tsBuildInfoFile', join(work, 'tsbuildinfo'));
  run([tsc, '-p', 'tsconfig.build.json', '--outDir', compiled, ...options]);
  run([join(compiled, 'tools', 'workflow-bundle.js'), join(compiled, 'workflow-bundle.js')]);
}

function run(args) {
  const { status } = spawnSync(process.execPath, args, { cwd: root, stdio: ['ignore', 2, 2] });
  if (status !== 0) process.exit(status ?? 1);
}

function collect() {
  for (const folder of FOLDERS) {
    cpSync(join(compiled, folder), join(packed, 'dist', folder), { recursive: true });
  }
  const bundle = readFileSync(join(compiled, 'workflow-bundle.js'), 'utf8');
  writeFileSync(join(packed, 'dist', 'workflow-bundle.js'), withoutSources(bundle));
  // The program looks its version up in it.
  save('package.json', { name: 'slipway', version, private: true, type: 'commonjs' });
  const { packages } = json('package-lock.json');
  const versions = Object.keys(dependencies).map((name) => [
    name,
    packages[`node_modules/${name}`].version,
  ]);
  save('build.json', { version, dependencies: Object.fromEntries(versions) });
}

/** The bundle with an empty source map: the SDK insists on one, and it is most of the bytes. */
function withoutSources(bundle) {
  const mark = '//# sourceMappingURL=data:application/json;charset=utf-8;base64,';
  const at = bundle.lastIndexOf(mark);
  if (at === -1) throw new Error('the workflow bundle has no source map in it');
  const { version: format, file } = JSON.parse(
    Buffer.from(bundle.slice(at + mark.length), 'base64').toString(),
  );
  const map = { version: format, file, sources: [], names: [], mappings: '' };
  return `${bundle.slice(0, at)}${mark}${Buffer.from(JSON.stringify(map)).toString('base64')}\n`;
}

function save(name, value) {
  writeFileSync(join(packed, name), `${JSON.stringify(value, null, 2)}\n`);
}

function write() {
  const order = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner'];
  const tar = execFileSync(
    'tar',
    [...order, '--mode=u=rwX,go=rX', '--format=ustar', '-C', packed, '-cf', '-', '.'],
    { maxBuffer: 1 << 28 },
  );
  const bytes = gzipSync(tar, { level: 9 });
  if (bytes.length > LIMIT_BYTES) {
    throw new Error(`the build has ${bytes.length} bytes packed, more than ${LIMIT_BYTES}`);
  }
  mkdirSync(dirname(archive), { recursive: true });
  writeFileSync(archive, bytes);
  const digest = sha256(bytes);
  writeFileSync(`${archive}.sha256`, `${digest}  ${version}.tgz\n`);
  freezeHistories();
  rmSync(work, { recursive: true, force: true });
  process.stdout.write(`${relative(root, archive)}: ${bytes.length} bytes, SHA-256 ${digest}\n`);
}

function freezeHistories() {
  const folder = join(root, 'test', 'histories', version);
  const lines = readdirSync(folder)
    .sort()
    .map((name) => `${sha256(readFileSync(join(folder, name)))}  ${name}\n`);
  const frozen = join(dirname(archive), `${version}.histories.sha256`);
  writeFileSync(frozen, lines.join(''));
}

function sha256(bytes) {
  return createHash('sha256').update(bytes).digest('hex');
}
