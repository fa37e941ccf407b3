import { freeLoopbackPort } from '../../process/health-server';
import { startTestTemporal, type TestTemporal } from './support/temporal';

jest.setTimeout(60_000);

let temporal: TestTemporal;
let address: string;
beforeAll(async () => {
  address = `127.0.0.1:${await freeLoopbackPort()}`;
  // Every step is replayed from its history, which must not count it again.
  temporal = await startTestTemporal({ metricsAddress: address, forgetful: true });
}, 180_000);
afterAll(() => temporal.stop(), 60_000);

it('every phase of an update is measured once, also those that do not disturb the node', async () => {
  const world = await temporal.world({ nodes: 2 });
  await Promise.all(world.nodeNames().map((node) => world.run(node)));

  const text = await (await fetch(`http://${address}/metrics`)).text();

  const counted: unknown = Object.fromEntries(
    text
      .split('\n')
      .filter((line) => line.startsWith('slipway_node_phase_duration_seconds_count'))
      .filter((line) => line.includes(`pool="${world.pool}"`))
      .map((line) => [/phase="(\w+)"/.exec(line)?.[1], Number(line.split(' ').at(-1))]),
  );
  expect(counted).toEqual({
    Preparing: 2,
    WaitingForGrant: 2,
    Draining: 2,
    Applying: 2,
    Rebooting: 2,
    Verifying: 2,
    Completing: 2,
  });
  expect(text).toMatch(/slipway_node_phase_duration_seconds_bucket\{.*le="3600"\}/);
});
