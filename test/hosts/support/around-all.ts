import { createLifetime, type Lifetime } from '../lifetime';

const START_MS = 600_000;
const STOP_MS = 120_000;

/**
 * Starts before all tests of a suite. What the lifetime owns ends after them, also when the start
 * fails or times out.
 */
export function aroundAll(start: (lifetime: Lifetime) => Promise<void>): void {
  const lifetime = createLifetime();
  beforeAll(() => lifetime.during(() => start(lifetime)), START_MS);
  afterAll(() => lifetime.end(), STOP_MS);
}
