import { expectSound, shippedSandbox } from './many-seeds';
import type { Sandbox } from './temporal/sandbox';

/** Seeds of one test. */
type Batch = readonly number[];

const PER_BATCH = 30;
const BATCHES = 5;

/** Half of the 300 seeds, the odd or the even ones: two processes share them. */
export function batchesOf(half: 0 | 1): readonly Batch[] {
  return Array.from({ length: BATCHES }, (_, batch) =>
    Array.from({ length: PER_BATCH }, (_seed, i) => (batch * PER_BATCH + i) * 2 + half + 1),
  );
}

export function nameOf(batch: Batch): string {
  return `seeds ${batch[0]} to ${batch.at(-1)}`;
}

export function describeSeeds(batches: readonly Batch[]): void {
  let sandbox: Sandbox;
  let events = 0;
  beforeAll(async () => {
    sandbox = await shippedSandbox();
  }, 180_000);
  afterAll(() => {
    process.stderr.write(`simulation: ${batches.flat().length} seeds, ${events} events\n`);
  });

  it.each(batches.map((batch) => [nameOf(batch), batch] as const))(
    'keeps every invariant for %s',
    async (_name, seeds) => {
      const happened = await expectSound(sandbox, seeds);
      events += happened;
      expect(happened).toBeGreaterThan(seeds.length);
    },
    600_000,
  );
}
