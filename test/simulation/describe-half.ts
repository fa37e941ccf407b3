import { expectSound, shippedSandbox } from './many-seeds';
import type { Sandbox } from './temporal/sandbox';

/** Half of the seeds of `npm test`, for one of the two processes that share them. */
export function describeHalf(half: 0 | 1): void {
  const PER_TEST = 30;
  const TESTS = 5;
  let sandbox: Sandbox;
  let events = 0;
  beforeAll(async () => {
    sandbox = await shippedSandbox();
  }, 180_000);
  afterAll(() => {
    process.stderr.write(`simulation: ${PER_TEST * TESTS} seeds, ${events} events\n`);
  });

  const batches = Array.from({ length: TESTS }, (_, batch) =>
    Array.from({ length: PER_TEST }, (_seed, i) => (batch * PER_TEST + i) * 2 + half + 1),
  );
  it.each(batches.map((seeds) => [seeds[0], seeds.at(-1), seeds] as const))(
    'keeps every invariant for seeds %i to %i',
    async (_first, _last, seeds) => {
      const happened = await expectSound(sandbox, seeds);
      events += happened;
      expect(happened).toBeGreaterThan(seeds.length);
    },
    600_000,
  );
}
