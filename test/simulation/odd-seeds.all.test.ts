import { batchesOf, describeSeeds } from './describe-seeds';

describe('simulated rollouts, odd seeds', () => {
  describeSeeds(batchesOf(0));
});
