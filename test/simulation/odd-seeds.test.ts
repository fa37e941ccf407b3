import { describeHalf } from './describe-half';

describe('simulated rollouts, odd seeds', () => {
  describeHalf(0);
});
