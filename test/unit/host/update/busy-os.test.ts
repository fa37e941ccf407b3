import { createHostActivities } from '../../../../activities/host/host-activities';
import { fail } from '../../../../core/errors';
import { aCopyOf, aHost, bootInto, orderFor, type TestHost } from '../a-host';
import { NEW, OLD } from '../an-os-update';

let onOld: TestHost;
let host: TestHost;
beforeAll(async () => {
  onOld = await aHost([OLD, NEW]);
  await bootInto(onOld, OLD);
});
beforeEach(async () => {
  host = await aCopyOf(onOld);
});
afterEach(() => host.remove());
afterAll(() => onOld.remove());

/** Another transaction makes the operating system busy at these attempts. */
async function busyAt(isBusy: (time: number) => boolean, asked: 'status' | 'finalize' = 'status') {
  const ports = await host.ports();
  const said: string[] = [];
  let pauses = 0;
  let times = 0;
  const refused = <T>(ask: () => Promise<T>) => {
    times += 1;
    if (isBusy(times)) throw fail('OsCommandFailed', 'rpm-ostree: a transaction is in progress');
    return ask();
  };
  const answers = {
    status: async () => refused(() => ports.os.status()),
    finalize: async () => refused(() => ports.os.finalize()),
  };
  const activities = createHostActivities({
    ...ports,
    os: { ...ports.os, [asked]: answers[asked] },
    pause: async () => {
      pauses += 1;
    },
    warn: (sentence) => said.push(sentence),
  });
  return { activities, said, pauses: () => pauses, times: () => times };
}

const busy = (times: number) => busyAt((time) => time <= times);

const STEPS = ['prepareUpdate', 'applyUpdate', 'armReboot'] as const;
type Step = (typeof STEPS)[number];

async function readyFor(step: Step): Promise<void> {
  const activities = await host.activities();
  for (const before of STEPS.slice(0, STEPS.indexOf(step))) {
    await activities[before](orderFor(NEW, before));
  }
}

it.each(STEPS)('holds up %s for as long as it is busy, and says so', async (step) => {
  await readyFor(step);
  const { activities, said, pauses } = await busy(3);

  await activities[step](orderFor(NEW, step));

  expect(pauses()).toBe(3);
  expect(said).toEqual(['cannot read the OS status yet: rpm-ostree: a transaction is in progress']);
});

it.each(STEPS)('%s outlives one refused look, whichever it is', async (step) => {
  await readyFor(step);
  const ready = host;
  host = await aCopyOf(ready);
  const calm = await busyAt(() => false);
  await calm.activities[step](orderFor(NEW, step));

  for (let look = 1; look <= calm.times(); look += 1) {
    host.remove();
    host = await aCopyOf(ready);
    const { activities, pauses } = await busyAt((time) => time === look);
    await activities[step](orderFor(NEW, step));
    expect(pauses()).toBe(1);
  }
  expect(calm.times()).toBeGreaterThan(0);
  ready.remove();
});

it('is asked again to release the staged deployment', async () => {
  await readyFor('armReboot');
  const { activities, pauses } = await busyAt((time) => time <= 2, 'finalize');

  await activities.armReboot(orderFor(NEW, 'r'));

  expect(pauses()).toBe(2);
  expect(host.reboots).toEqual([`update to ${NEW.reference.name}`]);
});

it('ends the update that cannot begin in five minutes', async () => {
  const { activities, pauses } = await busy(1_000);

  await expect(activities.prepareUpdate(orderFor(NEW, 'p'))).rejects.toMatchObject({
    name: 'OsCommandFailed',
  });
  expect(pauses()).toBe(59);
});
