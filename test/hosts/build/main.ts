/**
 * Builds the OS images of the end-to-end hosts and the disk of the emulated one, and gets the engine of
 * their first boot and their registry, so that no test's own time limit pays for it; their private
 * network could not fetch anything.
 */

import { messageOf } from '../../../core/errors';
import { ensureBinary } from '../../../tools/binaries';
import { ensureRegistry } from '../../../tools/registry';
import { storyDisk } from '../qemu/first-config';
import { osImages } from './images';

async function main(): Promise<string> {
  await ensureBinary('ignition');
  await ensureRegistry();
  const layout = await osImages();
  await storyDisk();
  return layout;
}

main().then(
  (layout) => {
    process.stdout.write(`${layout}\n`);
  },
  (error: unknown) => {
    process.stderr.write(`slipway: ${messageOf(error)}\n`);
    process.exitCode = 1;
  },
);
