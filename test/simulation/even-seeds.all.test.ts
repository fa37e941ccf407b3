import { batchesOf, describeSeeds } from './describe-seeds';

describe('simulated rollouts, even seeds', () => {
  describeSeeds(batchesOf(1));
});
