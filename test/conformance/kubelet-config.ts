/** Cases of MCO's kubelet config controller. */

import { kindOfFunctions, knownKeys, type Handlers } from './generated';
import { contextOf, type KubeletContext } from './kubelet-config-context';
import { KUBELET_FUNCTIONS } from './kubelet-config-functions';

/** A key that nothing here reads is an error: such a case verifies nothing. */
const HANDLERS: Handlers<KubeletContext> = Object.fromEntries(
  [...KUBELET_FUNCTIONS].map(([name, { keys, run }]) => [
    name,
    ({ function: _, ...args }, context) => {
      knownKeys(name, args, keys);
      return run(args, context);
    },
  ]),
);

export const kubeletConfigKind = kindOfFunctions('kubelet config', contextOf, HANDLERS);
