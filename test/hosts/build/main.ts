/**
 * Builds what the stories need before they run: no test's time limit includes it, and the hosts'
 * private network could not download anything.
 */

import { messageOf } from '../../../core/errors';
import { ensureBinary } from '../../../tools/binaries';
import { ensureRegistry, ensureVerifyingSkopeo } from '../../../tools/registry';
import { storyDisk } from '../qemu/first-config';
import { osImages } from './images';

async function main(): Promise<string> {
  await ensureBinary('ignition');
  await ensureBinary('butane');
  await ensureRegistry();
  await ensureVerifyingSkopeo();
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
