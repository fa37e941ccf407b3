/** Before a test times out. */

import { isPrivateNetwork } from '../machine/network';

export default function requirePrivateNetwork(): void {
  if (isPrivateNetwork()) return;
  throw new Error(
    'end-to-end hosts run as root in a network of their own: `npm test -- hosts`, or ' +
      '`tools/setup/in-namespace.sh node_modules/.bin/jest --selectProjects hosts --runInBand`',
  );
}
