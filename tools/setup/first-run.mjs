// Says what the first `npm run demo` has to get, and how long that takes. Plain Node without
// imports from npm, because it runs before they are installed.
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const cache = process.env['SLIPWAY_CACHE'] || join(homedir(), '.cache', 'slipway');
/** Folder of the cache → its slowest program, and minutes of all its builds on two idle cores. */
const SERVERS = [
  ['temporal-cli', 'temporal', 4],
  ['etcd', 'etcd', 0.5],
  ['kubernetes', 'kube-apiserver', 4],
  ['kwok', 'kwok', 1],
];
const DOWNLOAD_MINUTES = 2;

const own = [
  ...(existsSync(join(root, 'node_modules')) ? [] : ['npm dependencies']),
  ...(existsSync(join(root, 'dist')) ? [] : ['the compiled sources']),
];
const missing = SERVERS.filter(([folder, program]) => !isThere(folder, program));
const parts = [...own, ...missing.map(([, program]) => program)];
if (parts.length > 0) {
  const minutes = own.length + (missing.length > 0 ? DOWNLOAD_MINUTES : 0);
  const built = own.length + missing.reduce((sum, [, , build]) => sum + build, 0);
  const orBuilt =
    missing.length > 0 ? ` (about ${Math.ceil(built)} where Go has to build the servers)` : '';
  process.stderr.write(
    `slipway: about ${minutes} min${orBuilt} for what later runs find ready: ${parts.join(', ')}\n`,
  );
}

/** Whether its version fits is seen later. */
function isThere(folder, program) {
  const variable = `SLIPWAY_${program.toUpperCase().replaceAll('-', '_')}`;
  if (process.env[variable] || existsSync(join(cache, folder))) return true;
  const path = (process.env['PATH'] ?? '').split(':').filter((directory) => directory !== '');
  return path.some((directory) => existsSync(join(directory, program)));
}
