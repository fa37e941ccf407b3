import { expectSound, shippedSandbox } from './many-seeds';
import regressions from './regressions.json';
import type { Sandbox } from './temporal/sandbox';

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await shippedSandbox();
}, 180_000);

describe('seeds that found something once', () => {
  it.each(regressions.map(({ seed, why, ...given }) => [seed, why, given] as const))(
    '%i: %s',
    async (seed, _why, given) => {
      await expect(expectSound(sandbox, [seed], given)).resolves.toBeGreaterThan(0);
    },
    600_000,
  );
});
