import { gzipSync } from 'node:zlib';
import { renderForHosts, renderMachineConfig } from '../../../../core/machine-config';
import { refuseOversized } from '../../../../core/machine-config/limits';
import { files, machineConfig, renderInput } from './builders';

const MIB = 1024 * 1024;

/** A gzip stream that claims this size. */
function packed(bytes: number): object {
  const stream = gzipSync('small');
  stream.writeUInt32LE(bytes, stream.length - 4);
  return { compression: 'gzip', source: `data:;base64,${stream.toString('base64')}` };
}

const refusing = (config: object) => () => {
  refuseOversized(config as Parameters<typeof refuseOversized>[0], 'worker');
};

it('as many paths and bytes as a host takes are fine', () => {
  const many = Array.from({ length: 19_998 }, (_, i) => ({ path: `/etc/${i}` }));
  const units = [{ name: 'a.service', dropins: [{ name: 'a.conf' }] }];
  const half = packed(128 * MIB);
  const whole = [{ path: '/etc/a', contents: half, append: [half] }];

  expect(refusing({ storage: { files: many }, systemd: { units } })).not.toThrow();
  expect(refusing({ storage: { files: whole } })).not.toThrow();
  expect(refusing({})).not.toThrow();
});

it('more paths are refused', () => {
  const many = Array.from({ length: 19_999 }, (_, i) => ({ path: `/etc/${i}` }));
  const units = [{ name: 'a.service', dropins: [{ name: 'a.conf' }] }];

  expect(refusing({ storage: { files: many }, systemd: { units } })).toThrow(
    'the rendered config of pool worker has 20001 files, units and drop-ins, and a host takes 20000',
  );
});

it('more bytes are refused when a pool is rendered for hosts, also when several configs bring them', () => {
  const source = (name: string, bytes: number) =>
    machineConfig(name, { config: files({ path: `/etc/${name}`, contents: packed(bytes) }) });
  const sources = [source('a', 200 * MIB), source('b', 57 * MIB)];

  expect(() => renderForHosts(renderInput(sources))).toThrow(
    'the files of the rendered config of pool worker unpack to 269484032 bytes, and a host takes 268435456',
  );
  expect(renderMachineConfig(renderInput(sources)).name).toMatch(/^rendered-worker-/);
});
