import { sampleOf } from '../support/sample';
import { batchesOf, describeSeeds, nameOf } from './describe-seeds';

/** Sixty seeds of the 300. */
describe('simulated rollouts', () => {
  describeSeeds(sampleOf('simulation', [...batchesOf(0), ...batchesOf(1)], 2, nameOf));
});
