/** No test's time limit includes this build. */

import { messageOf } from '../../../core/errors';
import { ensureStandIns } from './build';

ensureStandIns().then(
  (programs) => {
    for (const [name, path] of Object.entries(programs)) process.stdout.write(`${name}\t${path}\n`);
  },
  (error: unknown) => {
    process.stderr.write(`slipway: ${messageOf(error)}\n`);
    process.exitCode = 1;
  },
);
