// Says what the first `npm run demo` has to get, and how long that takes. Plain Node without
// imports from npm, because it runs before they are installed.
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const cache = process.env['SLIPWAY_CACHE'] || join(homedir(), '.cache', 'slipway');
/** Folder of the cache → its slowest program, and minutes on two idle cores. */
const SERVERS = [
  ['temporal-cli', 'temporal', 5],
  ['etcd', 'etcd', 1],
  ['kubernetes', 'kube-apiserver', 6],
  ['kwok', 'kwok', 2],
];
const DOWNLOAD_MINUTES = 2;

const parts = [
  ...(existsSync(join(root, 'node_modules')) ? [] : ['npm dependencies (1 min)']),
  ...(existsSync(join(root, 'dist')) ? [] : ['compiling (1 min)']),
];
const missing = SERVERS.filter(([folder, program]) => !isThere(folder, program));
if (missing.length > 0) {
  const names = missing.map(([, program]) => program).join(', ');
  const build = missing.reduce((sum, [, , minutes]) => sum + minutes, 0);
  parts.push(
    `real servers: ${names} (downloads: ${DOWNLOAD_MINUTES} min; ` +
      `where there is no download, builds with Go: ${build} min on two idle cores)`,
  );
}
if (parts.length > 0) {
  process.stderr.write(
    `slipway: this first run makes ready what later runs find: ${parts.join('; ')}\n`,
  );
}

/** Whether its version fits is seen later. */
function isThere(folder, program) {
  const variable = `SLIPWAY_${program.toUpperCase().replaceAll('-', '_')}`;
  if (process.env[variable] || existsSync(join(cache, folder))) return true;
  const path = (process.env['PATH'] ?? '').split(':').filter((directory) => directory !== '');
  return path.some((directory) => existsSync(join(directory, program)));
}
