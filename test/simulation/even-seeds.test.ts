import { describeHalf } from './describe-half';

describe('simulated rollouts, even seeds', () => {
  describeHalf(1);
});
