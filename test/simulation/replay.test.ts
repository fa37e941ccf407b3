import { expectSound, shippedSandbox } from './many-seeds';
import regressions from './regressions.json';
import { runSeed } from './run-seed';
import type { Sandbox } from './temporal/sandbox';

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await shippedSandbox();
}, 180_000);

describe('a seed', () => {
  it('does exactly the same again', async () => {
    const first = await runSeed(20, { sandbox });
    const again = await runSeed(20, { sandbox });

    expect(again.digest).toBe(first.digest);
    expect(again.events).toBe(first.events);
    expect(first.trace.count).toBeGreaterThan(100);
  }, 600_000);

  it('does something else than another one', async () => {
    const one = await runSeed(17, { sandbox });
    const other = await runSeed(18, { sandbox });

    expect(other.digest).not.toBe(one.digest);
  }, 600_000);
});

describe('seeds that found something once', () => {
  it.each(regressions.map(({ seed, why, ...given }) => [seed, why, given] as const))(
    '%i: %s',
    async (seed, _why, given) => {
      await expect(expectSound(sandbox, [seed], given)).resolves.toBeGreaterThan(0);
    },
    600_000,
  );
});
