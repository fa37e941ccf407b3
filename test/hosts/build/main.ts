/**
 * Builds the OS images of the end-to-end hosts, the disk of the emulated one, and the engine of their first
 * boot, so that no test's own time limit pays for it; their private network could not fetch anything.
 */

import { messageOf } from '../../../core/errors';
import { ensureBinary } from '../../../tools/binaries';
import { storyDisk } from '../qemu/first-config';
import { osImages } from './images';

ensureBinary('ignition')
  .then(osImages)
  .then(async (layout) => {
    await storyDisk();
    return layout;
  })
  .then(
    (layout) => {
      process.stdout.write(`${layout}\n`);
    },
    (error: unknown) => {
      process.stderr.write(`slipway: ${messageOf(error)}\n`);
      process.exitCode = 1;
    },
  );
