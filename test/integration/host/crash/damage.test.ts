/**
 * A journal is damaged during an update: cut off at any byte, or with one bit changed in any of its entries. The
 * host notices it each time, and changes nothing.
 */

import { Conductor, CrashMachine, type Step } from './crash-machine';
import { RELOADED } from './configs';
import { machineOnOld } from './enumerate';
import type { Picture } from './model-disk';

const DIRECTORY =
  '/var/lib/slipway/journal/update-node_worker-1_rendered-worker-reloaded_applyUpdate';
const LOG = `${DIRECTORY}/log`;
const SEAL = `${DIRECTORY}/seal`;

/** Two starts for each byte, on a busy machine. */
jest.setTimeout(600_000);

/** For a sample of the bytes it is also ordered to roll back, which reads the journal with the same code. */
const TOLD_EVERY = 50;

/** All of the update is applied. */
let applied: Picture;
let log: Buffer;

beforeAll(async () => {
  const machine = new CrashMachine((await machineOnOld()).disk.picture());
  const conductor = new Conductor(RELOADED, { reboots: false });
  for (const step of ['prepareUpdate', 'applyUpdate'] satisfies Step[]) {
    await conductor.run(machine, step);
  }
  applied = machine.disk.picture();
  machine.damage(LOG, (data) => (log = data));
});

/** The messages of the machine at its start after this damage, and at an order to roll back. */
async function saidAfter(damage: (machine: CrashMachine) => void, isTold = true) {
  const machine = new CrashMachine(applied);
  damage(machine);
  const before = machine.tree();
  const said = [await machine.settle().then(() => 'nothing', messageOf)];
  if (isTold) {
    const conductor = new Conductor(RELOADED, { reboots: false });
    said.push(await conductor.goBack(machine).then(() => 'nothing', messageOf));
  }
  return { said, isUntouched: JSON.stringify(machine.tree()) === JSON.stringify(before) };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}

const refusal = (why: string) =>
  `RollbackFailed: read journal ${LOG}: ${why}; nothing was changed; ` +
  `put the machine on one of its two configs by hand, then move ${DIRECTORY} away`;

describe('a journal', () => {
  it('is refused when its log was cut off, at any byte', async () => {
    for (let length = 0; length < log.length; length += 1) {
      const cut = (machine: CrashMachine) =>
        machine.damage(LOG, (data) => data.subarray(0, length));
      const { said, isUntouched } = await saidAfter(cut, length % TOLD_EVERY === 0);
      const left = log.lastIndexOf(0x0a, length - 1) + 1;
      const whole = length === 0 ? 0 : left;
      const why = refusal(`${log.length} bytes were written, ${whole} of them are left`);
      expect({ length, isUntouched }).toEqual({ length, isUntouched: true });
      for (const text of said) expect({ length, text }).toEqual({ length, text: why });
    }
  });

  it('is refused when a bit of its log was changed, in any byte', async () => {
    for (let at = 0; at < log.length; at += 1) {
      const flip = (machine: CrashMachine) => machine.damage(LOG, (data) => flipped(data, at));
      const { said, isUntouched } = await saidAfter(flip, at % TOLD_EVERY === 0);
      expect({ at, isUntouched }).toEqual({ at, isUntouched: true });
      const refused =
        /^RollbackFailed: read journal \S+\/log: .*; nothing was changed; put the machine/;
      for (const text of said)
        expect({ at, text }).toEqual({ at, text: expect.stringMatching(refused) as string });
    }
  });

  it.each<[string, (machine: CrashMachine) => void, string]>([
    [
      'zeros in place of its last sector',
      (machine) => machine.damage(LOG, (data) => data.fill(0, data.length - 300)),
      'does not match its checksum',
    ],
    ['its seal zeroed', (machine) => machine.damage(SEAL, (data) => data.fill(0)), 'its seal,'],
    [
      'the log of another time',
      (machine) => machine.damage(LOG, (data) => Buffer.concat([data.subarray(0, 100), data])),
      'entry 1 does not match its checksum',
    ],
  ])('is refused with %s', async (_what, damage, why) => {
    const { said, isUntouched } = await saidAfter(damage);

    expect(isUntouched).toBe(true);
    for (const text of said) expect(text).toContain(why);
  });

  it('is good with one of its two seals', async () => {
    for (const slot of [0, 512]) {
      const { said } = await saidAfter((machine) =>
        machine.damage(SEAL, (data) => data.fill(0, slot, slot + 512)),
      );
      expect(said).toEqual(['nothing', 'nothing']);
    }
  });
});

function flipped(data: Buffer, at: number): Buffer {
  data[at] = (data[at] ?? 0) ^ (1 << (at % 8));
  return data;
}
