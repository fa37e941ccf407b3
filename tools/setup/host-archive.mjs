// What the server gives to machines that boot from a stock image: dist/host-bundle and this Node as
// dist/host-worker/MACHINE.tar.gz, with its digest beside it. MACHINE is what `uname -m` says. The same files give the
// same archive.
import { createHash } from 'node:crypto';
import {
  createReadStream,
  createWriteStream,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { createGzip } from 'node:zlib';
import tar from 'tar-stream';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const bundle = join(root, 'dist', 'host-bundle');
const out = join(root, 'dist', 'host-worker');
const MACHINES = { x64: 'x86_64', arm64: 'aarch64' };

const machine = process.platform === 'linux' ? MACHINES[process.arch] : undefined;
if (machine === undefined) {
  const why = 'machines run Linux on x64 or arm64; run npm run image on such a machine';
  process.stderr.write(
    `slipway: there is no host worker for ${process.platform} ${process.arch}: ${why}\n`,
  );
  process.exit(1);
}
rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
const archive = join(out, `${machine}.tar.gz`);
const pack = tar.pack();
const written = pipeline(pack, createGzip(), createWriteStream(archive));
for (const path of files()) await add(path, join(bundle, path));
await add('node', process.execPath, 0o755);
pack.finalize();
await written;
const digest = createHash('sha256').update(readFileSync(archive)).digest('hex');
writeFileSync(join(out, `${machine}.sha256`), `${digest}\n`);
const megabytes = Math.round(statSync(archive).size / 1e6);
process.stderr.write(`slipway: dist/host-worker/${machine}.tar.gz: ${megabytes} MB\n`);

function files() {
  return readdirSync(bundle, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(bundle, join(entry.parentPath, entry.name)))
    .sort();
}

async function add(name, path, mode = statSync(path).mode & 0o755) {
  const { size } = statSync(path);
  const header = { name, mode, size, mtime: new Date(0), uid: 0, gid: 0 };
  await new Promise((resolve, reject) => {
    const entry = pack.entry(header, (error) => (error ? reject(error) : resolve()));
    createReadStream(path).on('error', reject).pipe(entry);
  });
}
