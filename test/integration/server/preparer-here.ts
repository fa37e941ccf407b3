import { prepareNow, type Preparer } from '../../../server/ignition/prepare';

/** The thread's program is compiled; what runs in it is the same. */
export const preparerHere: Preparer = {
  prepare: async (job) => prepareNow(job),
  close: () => Promise.resolve(),
};
