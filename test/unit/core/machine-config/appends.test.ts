import {
  renderForHosts,
  renderMachineConfig,
  type MachineConfig,
  type RenderInput,
} from '../../../../core/machine-config';
import {
  ignitionReasonOnHosts,
  withReadableAppends,
} from '../../../../core/machine-config/appends';
import { ignitionReason } from '../../../../core/machine-config/reconcilable';
import type { IgnitionConfig, IgnitionFile } from '../../../../core/machine-config/types';
import { files, ignition, machineConfig, renderInput } from './builders';

const APPEND = [{ source: 'data:,1' }];
const PLAIN = { path: '/etc/plain', contents: { source: 'data:,2' } };
const FORCE_FILE = { path: '/run/machine-config-daemon-force', append: APPEND };

const config = (...list: readonly IgnitionFile[]): IgnitionConfig =>
  files(...list) as IgnitionConfig;
const appending = (path: string, name = '50'): MachineConfig =>
  machineConfig(name, { config: files({ path, append: APPEND }) });
const plain = (name: string): MachineConfig => machineConfig(name, { config: files(PLAIN) });

describe('withReadableAppends', () => {
  test('a file that appends and has no contents does not overwrite', () => {
    const appended = { path: '/etc/a', overwrite: true, append: APPEND };
    const kept = { ...PLAIN, overwrite: true, append: APPEND };
    expect(withReadableAppends(config(kept, appended))).toEqual(
      config(kept, { ...appended, overwrite: false }),
    );
  });

  test.each([
    ['no storage', ignition() as IgnitionConfig],
    ['contents', config({ ...PLAIN, overwrite: true })],
    ['contents and what is appended', config({ ...PLAIN, overwrite: true, append: APPEND })],
    ['nothing at all in it', config({ path: '/etc/a', overwrite: true, append: [] })],
  ])('a config with %s stays as it is', (_, as) => {
    expect(withReadableAppends(as)).toBe(as);
  });
});

describe('ignitionReasonOnHosts', () => {
  const old = { ignition: { version: '3.5.0' } };
  const next = { ...old, storage: { files: [{ path: '/etc/a', append: APPEND }] } };

  test('a file that appends is a reason for MCO only', () => {
    expect(ignitionReason(old, next, [])).toBe('ignition file /etc/a includes append');
    expect(ignitionReasonOnHosts(old, next, [])).toBeUndefined();
  });

  test.each([
    ['the force file', { files: [FORCE_FILE] }, 'cannot create /run/machine-config-daemon-force'],
    ['disks', { ...next.storage, disks: [{ device: '/dev/a' }] }, 'ignition disks section'],
  ])('%s is a reason also beside it', (_, storage, reason) => {
    expect(ignitionReasonOnHosts(old, { ...old, storage }, [])).toContain(reason);
  });
});

describe('a render for hosts', () => {
  const overwrites = (
    render: typeof renderForHosts,
    input: RenderInput,
  ): readonly (boolean | undefined)[] =>
    (render(input).spec.config.storage?.files ?? []).map(({ overwrite }) => overwrite);

  test('has another name than MCO gives where a file appends and has no contents', () => {
    const input = renderInput([appending('/etc/a'), plain('60')]);
    expect(overwrites(renderMachineConfig, input)).toEqual([true, true]);
    expect(overwrites(renderForHosts, input)).toEqual([false, true]);
    expect(renderForHosts(input).name).not.toBe(renderMachineConfig(input).name);
  });

  test("is MCO's to the byte everywhere else", () => {
    const input = renderInput([appending(PLAIN.path), plain('60')]);
    expect(renderForHosts(input)).toEqual(renderMachineConfig(input));
  });

  test('can be made again and again from a config that appends', () => {
    const { name, spec } = renderForHosts(renderInput([appending('/etc/a')]));
    const current = { metadata: { name }, spec };
    const input = renderInput([appending('/etc/a'), plain('60')], { current });
    expect(() => renderMachineConfig(input)).toThrow('overwrite must be false');
    expect(overwrites(renderForHosts, input)).toEqual([false, true]);
  });
});
