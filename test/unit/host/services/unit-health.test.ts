/** Units of a config after the boot that brought them, by their state in systemd. */

import type { HostPorts, OpenJournal, UnitState } from '../../../../host/ports';
import { proveUnits } from '../../../../host/services/unit-health';
import type { IgnitionUnit } from '../../../../core/machine-config/types';
import { aConfig } from '../a-host';

const UP: UnitState = {
  load: 'loaded',
  active: 'active',
  sub: 'running',
  result: 'success',
  type: 'simple',
  restarts: 0,
  exitStatus: 0,
  restartPolicy: 'no',
  upMs: 60_000,
  hasRun: false,
};
const DOWN: UnitState = { ...UP, active: 'inactive', sub: 'dead', upMs: 0 };
const ENDED: UnitState = { ...DOWN, type: 'oneshot', hasRun: true };
const STARTING: UnitState = { ...UP, active: 'activating', sub: 'start', upMs: 0 };
const FAILED: UnitState = {
  ...DOWN,
  active: 'failed',
  sub: 'failed',
  result: 'exit-code',
  exitStatus: 3,
};
const BETWEEN: UnitState = { ...FAILED, active: 'activating', sub: 'auto-restart' };
const OF_SOCKET = { type: '', restartPolicy: '' };

/** State of a unit, by milliseconds after the first check. */
type Story = (at: number) => UnitState;

/** A service that ends regularly, and is restarted after a pause. */
function loop(period: number, pause: number, as: Partial<UnitState> = {}): Story {
  return (at) => {
    const restarts = Math.floor((at + pause) / period);
    const upMs = at % period;
    if (upMs >= period - pause) return { ...BETWEEN, restarts: restarts - 1, ...as };
    return { ...UP, restarts, restartPolicy: 'on-failure', ...as, result: 'success', upMs };
  };
}

interface Proof {
  readonly units: readonly IgnitionUnit[];
  readonly before?: readonly IgnitionUnit[];
  readonly systemd: Readonly<Record<string, Story>>;
}

const enabled = (name: string): IgnitionUnit => ({ name, enabled: true, contents: '[Unit]\n' });

/** @returns the duration in milliseconds, from its pauses */
async function prove({ units, before = [], systemd }: Proof): Promise<number> {
  let waited = 0;
  const [old, next] = [before, units].map((list) =>
    aConfig('rendered-worker', { config: { systemd: { units: list } } }),
  );
  const record = { metadata: { name: 'rendered-worker' }, spec: old?.spec };
  const ports = {
    files: {
      look: async () => ({ kind: 'file', content: Buffer.from(JSON.stringify(record)) }),
    },
    systemd: {
      state: async (unit: string) => {
        const story = systemd[unit];
        if (story === undefined) throw new Error(`nobody should ask for ${unit}`);
        return story(waited);
      },
    },
    context: () => ({ signal: new AbortController().signal, progress: () => undefined }),
    pause: async (ms: number) => {
      waited += ms;
    },
  } as unknown as HostPorts;
  const journal = { header: { plan: { reboot: true } } } as unknown as OpenJournal;
  await proveUnits(ports, journal, (next ?? aConfig('none')).spec);
  return waited;
}

const A = 'a.service';
const always =
  (state: UnitState): Story =>
  () =>
    state;

describe('a unit that an update brought', () => {
  it('is not waited for when it has been up for long enough', async () => {
    expect(await prove({ units: [enabled(A)], systemd: { [A]: always(UP) } })).toBe(0);
  });

  it('is not waited for when it is a oneshot that did its work', async () => {
    expect(await prove({ units: [enabled(A)], systemd: { [A]: always(ENDED) } })).toBe(0);
  });

  it('is watched until it has been up for long enough', async () => {
    const story: Story = (at) => (at < 2_000 ? STARTING : { ...UP, upMs: at - 2_000 });

    expect(await prove({ units: [enabled(A)], systemd: { [A]: story } })).toBe(7_000);
  });

  it.each([
    ['a.service', FAILED],
    ['a.socket', { ...FAILED, ...OF_SOCKET, result: 'resources', exitStatus: 0 }],
    ['a.timer', { ...FAILED, ...OF_SOCKET, result: 'resources', exitStatus: 0 }],
    ['srv.mount', { ...FAILED, ...OF_SOCKET, result: 'exit-code', exitStatus: 0 }],
    ['a.path', { ...FAILED, ...OF_SOCKET, result: 'resources', exitStatus: 0 }],
  ])('fails the update when it has failed: %s', async (name, state) => {
    const units = [enabled(name)];

    await expect(prove({ units, systemd: { [name]: always(state) } })).rejects.toMatchObject({
      name: 'VerifyFailed',
      message: expect.stringMatching(
        `^${name} does not come up: it is failed .failed., result ${state.result}`,
      ) as string,
      details: { unit: name },
    });
  });

  it('that is no service is up as soon as it is active', async () => {
    const socket = { ...UP, ...OF_SOCKET, sub: 'listening', upMs: 10 };

    expect(
      await prove({ units: [enabled('a.socket')], systemd: { 'a.socket': always(socket) } }),
    ).toBe(0);
  });

  it('may be down when the config does not enable it, and not failed', async () => {
    const dropin = { name: A, dropins: [{ name: '10-a.conf', contents: '[Service]\n' }] };

    expect(await prove({ units: [dropin], systemd: { [A]: always(DOWN) } })).toBe(0);
    await expect(
      prove({ units: [dropin], systemd: { [A]: always(FAILED) } }),
    ).rejects.toMatchObject({ name: 'VerifyFailed' });
  });

  it('fails the update when systemd cannot read it', async () => {
    const unreadable = { ...DOWN, load: 'bad-setting' };

    await expect(
      prove({ units: [enabled(A)], systemd: { [A]: always(unreadable) } }),
    ).rejects.toMatchObject({
      message: expect.stringContaining('systemd cannot read it (bad-setting)') as string,
    });
  });

  it('fails the update when the config enables it and the machine does not have it', async () => {
    const missing = { ...DOWN, load: 'not-found', type: '' };
    const dropin = { name: A, dropins: [{ name: '10-a.conf', contents: '[Service]\n' }] };

    await expect(
      prove({ units: [enabled(A)], systemd: { [A]: always(missing) } }),
    ).rejects.toMatchObject({
      message: expect.stringContaining('there is no such unit on this machine') as string,
    });
    expect(await prove({ units: [dropin], systemd: { [A]: always(missing) } })).toBe(0);
  });

  it('may take longer to start, or not begin at all', async () => {
    expect(await prove({ units: [enabled(A)], systemd: { [A]: always(STARTING) } })).toBe(10_000);
    expect(await prove({ units: [enabled(A)], systemd: { [A]: always(DOWN) } })).toBe(10_000);
  });

  it('is not asked for when it is as before, to be down, or a template', async () => {
    const same = enabled('same.service');
    const units = [
      same,
      { name: 'off.service', enabled: false },
      { name: 'masked.service', mask: true },
      { name: 'many@.service', enabled: true },
    ];

    expect(await prove({ units, before: [same], systemd: {} })).toBe(0);
  });
});

describe('a service that is started again and again', () => {
  it.each([
    // Found between two starts, or by systemd's counter alone.
    ['at once', loop(1_000, 600)],
    ['after two seconds', loop(2_100, 100)],
    ['after four seconds', loop(4_000, 400)],
    ['seldom, because of a long pause', loop(10_000, 9_000)],
    ['since long before the first look', (at: number) => loop(3_000, 700)(at + 90_000)],
    ['by a policy that starts it always', loop(2_000, 600, { restartPolicy: 'always' })],
  ])('fails the update: %s', async (_when, story) => {
    await expect(prove({ units: [enabled(A)], systemd: { [A]: story } })).rejects.toMatchObject({
      name: 'VerifyFailed',
      message: expect.stringMatching(
        /^a\.service does not come up: .*restarted \d+ times; see journalctl -u a\.service$/,
      ) as string,
    });
  });

  it('is named with the result that it ended with, also when it runs at that moment', async () => {
    const story: Story = (at) =>
      at < 500 ? { ...BETWEEN, restarts: 1 } : { ...UP, restarts: 1 + at / 500, upMs: 100 };

    await expect(prove({ units: [enabled(A)], systemd: { [A]: story } })).rejects.toMatchObject({
      message: expect.stringContaining(
        'result exit-code, exit status 3, restarted 3 times',
      ) as string,
    });
  });

  it('may recover: what it needs came up later', async () => {
    const story: Story = (at) =>
      at < 3_000 ? { ...BETWEEN, restarts: 0 } : { ...UP, restarts: 1, upMs: at - 3_000 };

    expect(await prove({ units: [enabled(A)], systemd: { [A]: story } })).toBe(18_000);
  });

  it('may be a oneshot that succeeds in the end', async () => {
    const story: Story = (at) => (at < 3_000 ? BETWEEN : { ...ENDED, restarts: 1 });

    expect(await prove({ units: [enabled(A)], systemd: { [A]: story } })).toBe(3_000);
  });

  it('may end well each time, when that is how it works', async () => {
    const story = loop(2_000, 600, { restartPolicy: 'always', result: 'success', exitStatus: 0 });

    expect(await prove({ units: [enabled(A)], systemd: { [A]: story } })).toBe(10_000);
  });
});
