import type { HostPorts, UnitState } from '../../../../host/ports';
import { performActions, tellOfOldFiles } from '../../../../host/services/services';
import type { OpenJournal, UpdateMark } from '../../../../host/ports';
import { parseUnitState } from '../../../../adapters/host';
import type { DisruptionAction } from '../../../../core/disruption';
import { fail } from '../../../../core/errors';

const RUNNING: UnitState = {
  load: 'loaded',
  active: 'active',
  sub: 'running',
  result: 'success',
  type: 'simple',
  restarts: 0,
  exitStatus: 0,
  restartPolicy: 'no',
  upMs: 1_000,
  hasRun: false,
};
const DEAD: UnitState = { ...RUNNING, active: 'inactive', sub: 'dead', upMs: 0 };
const MISSING: UnitState = { ...DEAD, load: 'not-found', type: '', restartPolicy: '' };
const ONESHOT: UnitState = { ...DEAD, type: 'oneshot' };
const CRASHED: UnitState = {
  ...RUNNING,
  active: 'failed',
  sub: 'failed',
  result: 'exit-code',
  exitStatus: 3,
  upMs: 0,
};
const LOOPING: UnitState = { ...CRASHED, active: 'activating', sub: 'auto-restart', restarts: 1 };

const reload = (serviceName: string): DisruptionAction => ({
  type: 'Reload',
  reload: { serviceName },
});
const restart = (serviceName: string): DisruptionAction => ({
  type: 'Restart',
  restart: { serviceName },
});

/** A systemd that returns these states in order; the last one repeats. */
function aSystemd(states: Readonly<Record<string, readonly UnitState[]>>) {
  const told: string[] = [];
  const said: string[] = [];
  const left = new Map(Object.entries(states).map(([unit, list]) => [unit, [...list]]));
  let waited = 0;
  const tell = (verb: string) => async (unit: string) => void told.push(`${verb} ${unit}`);
  const ports = {
    systemd: {
      reload: tell('reload'),
      restart: tell('restart'),
      stop: tell('stop'),
      daemonReload: async () => void told.push('daemon-reload'),
      updateTrust: async () => void told.push('update-ca-trust'),
      state: async (unit: string) => {
        const list = left.get(unit) ?? [MISSING];
        return list.length > 1 ? list.shift() : list[0];
      },
    },
    context: () => ({
      signal: new AbortController().signal,
      progress: (text: string) => void said.push(text),
    }),
    pause: async (ms: number) => {
      waited += ms;
    },
  } as unknown as HostPorts;
  return { ports, told, said, waited: () => waited };
}

describe('services that are notified of new files', () => {
  it('are watched until they have stayed up', async () => {
    const { ports, told, waited } = aSystemd({ 'a.service': [RUNNING] });

    await performActions(ports, [{ type: 'DaemonReload' }, restart('a.service')]);

    expect(told).toEqual(['daemon-reload', 'restart a.service']);
    expect(waited()).toBe(5_000);
  });

  it('fail the update when they do not come up, with what systemd says', async () => {
    const { ports } = aSystemd({ 'a.service': [RUNNING, CRASHED] });

    await expect(performActions(ports, [restart('a.service')])).rejects.toMatchObject({
      name: 'ServiceFailed',
      message:
        'a.service did not come back after its restart: it is failed (failed), result exit-code, exit status 3; see journalctl -u a.service',
      details: { service: 'a.service', result: 'exit-code' },
    });
  });

  it('fail the update when systemd has to start them again', async () => {
    const { ports } = aSystemd({ 'a.service': [RUNNING, RUNNING, RUNNING, LOOPING] });

    await expect(performActions(ports, [restart('a.service')])).rejects.toMatchObject({
      name: 'ServiceFailed',
      message: expect.stringContaining('a.service did not stay up') as string,
    });
  });

  it('notice a crash between two checks by the count of restarts', async () => {
    const again = { ...RUNNING, restarts: 3 };
    const { ports } = aSystemd({ 'a.service': [{ ...RUNNING, restarts: 2 }, again] });

    await expect(performActions(ports, [reload('a.service')])).resolves.toBeUndefined();
    const crashing = aSystemd({
      'a.service': [{ ...RUNNING, restarts: 2 }, { ...RUNNING, restarts: 2 }, again],
    });
    await expect(performActions(crashing.ports, [reload('a.service')])).rejects.toMatchObject({
      name: 'ServiceFailed',
    });
  });

  it('may take their time to start, up to a limit', async () => {
    const starting: UnitState = { ...RUNNING, active: 'activating', sub: 'start' };
    const slow = aSystemd({ 'a.service': [RUNNING, starting, starting, RUNNING] });
    await performActions(slow.ports, [restart('a.service')]);

    const stuck = aSystemd({ 'a.service': [RUNNING, starting] });
    await expect(performActions(stuck.ports, [restart('a.service')])).rejects.toMatchObject({
      message: expect.stringContaining('it is activating (start)') as string,
    });
    expect(stuck.waited()).toBe(100_000);
  });

  it('that are oneshots are done when they have ended well', async () => {
    const { ports, waited } = aSystemd({ 'a.service': [ONESHOT] });

    await performActions(ports, [restart('a.service')]);

    expect(waited()).toBe(0);
  });

  it('are not reloaded when they do not run, and are started by a restart', async () => {
    const down = aSystemd({ 'a.service': [DEAD] });
    await performActions(down.ports, [reload('a.service')]);
    expect(down.told).toEqual([]);
    expect(down.said).toContain('a.service does not run: not reloaded');

    const started = aSystemd({ 'a.service': [DEAD, RUNNING] });
    await performActions(started.ports, [restart('a.service')]);
    expect(started.told).toEqual(['restart a.service']);
  });

  it('may be missing when only the defaults name them', async () => {
    const { ports, told, said } = aSystemd({});

    await performActions(ports, [{ type: 'Special' }, restart('crio.service')]);

    expect(told).toEqual([]);
    expect(said).toContain('crio.service is not installed: not reloaded');
    await expect(performActions(ports, [restart('typo.service')])).rejects.toMatchObject({
      name: 'ServiceFailed',
      message: 'restart typo.service: there is no such unit on this machine',
    });
  });

  it('of certificates have a program that stands in for the unit', async () => {
    const { ports, told } = aSystemd({});

    await performActions(ports, [restart('coreos-update-ca-trust.service')]);

    expect(told).toEqual(['update-ca-trust']);
  });

  it('are named when systemctl refuses', async () => {
    const { ports } = aSystemd({ 'a.service': [RUNNING] });
    const refusing = {
      ...ports,
      systemd: {
        ...ports.systemd,
        reload: async () => {
          throw fail('ApplyFailed', 'systemctl reload a.service: Job type reload not applicable');
        },
      },
    };

    await expect(performActions(refusing, [reload('a.service')])).rejects.toMatchObject({
      name: 'ServiceFailed',
      message: 'systemctl reload a.service: Job type reload not applicable',
    });
  });
});

describe('services after an undo', () => {
  const journal = (actions: readonly DisruptionAction[], running: readonly string[]) =>
    ({
      header: { plan: { actions, units: { changed: [], removed: [] } } },
      marks: (): readonly UpdateMark[] => [{ kind: 'servicesBegun', running }],
    }) as unknown as OpenJournal;

  it('must run again when they ran before', async () => {
    const { ports, told } = aSystemd({ 'a.service': [CRASHED, RUNNING] });

    await tellOfOldFiles(ports, journal([restart('a.service')], ['a.service']));

    expect(told).toEqual(['restart a.service']);
    const broken = aSystemd({ 'a.service': [CRASHED] });
    await expect(
      tellOfOldFiles(broken.ports, journal([restart('a.service')], ['a.service'])),
    ).rejects.toMatchObject({ name: 'ServiceFailed' });
  });

  it.each([
    ['that has ended', DEAD],
    ['that systemd tries to start again and again', LOOPING],
  ])('are started where they were to be reloaded: one %s', async (_which, now) => {
    const { ports, told } = aSystemd({ 'a.service': [now, now, RUNNING] });

    await tellOfOldFiles(ports, journal([reload('a.service')], ['a.service']));

    expect(told).toEqual(['restart a.service']);
  });

  it('are reloaded where they run', async () => {
    const { ports, told } = aSystemd({ 'a.service': [RUNNING] });

    await tellOfOldFiles(ports, journal([reload('a.service')], ['a.service']));

    expect(told).toEqual(['reload a.service']);
  });

  it('are down again when they were down before', async () => {
    const { ports, told } = aSystemd({
      'started.service': [RUNNING],
      'broken.service': [CRASHED],
      'once.service': [ONESHOT],
    });
    const actions = ['started', 'broken', 'once'].map((name) => restart(`${name}.service`));

    await tellOfOldFiles(ports, journal(actions, []));

    expect(told).toEqual(['stop started.service', 'restart once.service']);
  });
});

describe('the state of a unit', () => {
  it('is read from what systemctl shows', () => {
    const text = [
      'Type=notify',
      'NRestarts=2',
      'Result=exit-code',
      'ExecMainStatus=1',
      'LoadState=loaded',
      'ActiveState=failed',
      'SubState=failed',
      'Restart=on-failure',
      'ActiveEnterTimestampMonotonic=2000000',
      'ExecMainExitTimestampMonotonic=3000000',
    ];
    expect(parseUnitState(text.join('\n'), 7_000)).toEqual({
      ...CRASHED,
      type: 'notify',
      restarts: 2,
      exitStatus: 1,
      restartPolicy: 'on-failure',
      hasRun: true,
    });
    const missing = 'LoadState=not-found\nActiveState=inactive\nSubState=dead\n';
    expect(parseUnitState(missing, 7_000)).toEqual({ ...MISSING, result: '' });
    const up = 'ActiveState=active\nSubState=running\nActiveEnterTimestampMonotonic=2000400\n';
    expect(parseUnitState(up, 7_000).upMs).toBe(5_000);
  });
});
