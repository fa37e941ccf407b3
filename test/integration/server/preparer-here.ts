import { prepareNow, type Preparer } from '../../../server/ignition/prepare';

/** The thread needs a compiled program; this runs the same code here. */
export const preparerHere: Preparer = {
  prepare: async (job) => prepareNow(job),
  close: () => Promise.resolve(),
};
