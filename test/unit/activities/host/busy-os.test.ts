import { createHostActivities } from '../../../../activities/host';
import { fail } from '../../../../core/errors';
import { aHost, bootInto, orderFor, type TestHost } from './a-host';
import { NEW, OLD } from './an-os-update';

let host: TestHost;
beforeEach(async () => {
  host = await aHost([OLD, NEW]);
  await bootInto(host, OLD);
});
afterEach(() => {
  host.remove();
});

/** Somebody else's transaction keeps the operating system from saying how it is, so many times. */
async function busy(times: number) {
  const ports = await host.ports();
  const said: string[] = [];
  let pauses = 0;
  let left = times;
  const status = async () => {
    left -= 1;
    if (left >= 0) throw fail('OsCommandFailed', 'rpm-ostree: a transaction is in progress');
    return ports.os.status();
  };
  const activities = createHostActivities({
    ...ports,
    os: { ...ports.os, status },
    pause: async () => {
      pauses += 1;
    },
    warn: (sentence) => said.push(sentence),
  });
  return { activities, said, pauses: () => pauses };
}

it.each(['prepareUpdate', 'applyUpdate'] as const)(
  'holds up %s for as long as it is busy, and says so',
  async (step) => {
    if (step === 'applyUpdate') await (await host.activities()).prepareUpdate(orderFor(NEW, 'p'));
    const { activities, said, pauses } = await busy(3);

    await activities[step](orderFor(NEW, step));

    expect(pauses()).toBe(3);
    expect(said).toEqual([
      'cannot look at the operating system yet: rpm-ostree: a transaction is in progress',
    ]);
  },
);

it('ends the update that cannot begin in five minutes', async () => {
  const { activities, pauses } = await busy(1_000);

  await expect(activities.prepareUpdate(orderFor(NEW, 'p'))).rejects.toMatchObject({
    name: 'OsCommandFailed',
  });
  expect(pauses()).toBe(59);
});
