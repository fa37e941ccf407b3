// Resolves etcd with PATH argv[2] and cache argv[3], without downloads; progress goes to stdout.
import { resolveBinary } from '../../../../tools/binaries/resolve';
import { readSettings } from '../../../../tools/binaries/settings';

// The end of stdin is answered once the turn is over in which the compiler was started, and adopted.
process.stdin.on('end', () => process.stdout.write('adopted\n')).resume();

const [, , path = '', cache = ''] = process.argv;
const settings = readSettings({ PATH: path, SLIPWAY_CACHE: cache, SLIPWAY_DOWNLOAD: 'never' });

resolveBinary('etcd', { settings, report: (line) => process.stdout.write(`${line}\n`) }).catch(
  (error: unknown) => {
    process.stdout.write(`failed ${String(error)}\n`);
    process.exitCode = 1;
  },
);
