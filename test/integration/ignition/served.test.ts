/** Ignition's own validators accept every served config: every pool, every version, with all additions. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { firstBootConfig, readServedIgnition } from '../../../core/first-boot';
import { pointerIgnition } from '../../../core/join';
import { ensureBinary } from '../../../tools/binaries';
import { firstConfig, VERSIONS } from './first-configs';
import { FACTS, PEM, ports, renderedPool } from './pools';

// The validator may have to be built.
jest.setTimeout(15 * 60_000);

/** The messages of this generation's validator; empty = valid. */
async function complaints(config: string, generation: 2 | 3 = 3): Promise<string> {
  const program = generation === 3 ? 'ignition-validate' : 'ignition-validate-2';
  const child = spawn(await ensureBinary(program), ['-'], {
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  child.stdin.end(config);
  const said = Promise.all([text(child.stdout), text(child.stderr)]);
  const [status] = (await once(child, 'close')) as [number | null];
  const words = (await said).join('');
  return status === 0 ? words : `exit status ${status}: ${words}`;
}

/** As in MCO, files without a mode are served without one, which Ignition 2 takes as 0000 for new files. */
const MODE_UNSET = /warning at line \d+, column \d+\npermissions unset, defaulting to 0000\n/g;

const POOLS = [
  ['worker', ['worker']],
  ['infra', ['worker', 'infra']],
  ['master', ['master']],
] as const;

describe.each(POOLS)('what machines of pool %s get', (pool, roles) => {
  it.each(VERSIONS)('in version %s', async (version) => {
    const machineConfig = renderedPool(pool, roles);
    const short = version.slice(0, 3) as '3.5';
    const config = firstBootConfig({
      machineConfig,
      ignition: readServedIgnition(machineConfig, ports),
      facts: FACTS,
      version: short,
    });

    expect(await complaints(config)).toBe('');
    expect(JSON.parse(config)).toMatchObject({ ignition: { version } });
  });

  it('in version 2.2.0', async () => {
    const machineConfig = renderedPool(pool, roles);
    const ignition = readServedIgnition(machineConfig, ports);
    const config = firstBootConfig({ machineConfig, ignition, facts: FACTS, version: '2.2' });

    const said = await complaints(config, 2);
    expect(said.replaceAll(MODE_UNSET, '')).toBe('');
    expect(JSON.parse(config)).toMatchObject({ ignition: { version: '2.2.0' } });
  });
});

it.each([{}, { token: 'slipway-join.abcdefgh.secret' }])(
  'what a machine starts with: %j',
  async (more) => {
    const pointer = pointerIgnition({
      serverUrl: 'https://api-int.example.com:22623',
      pool: 'worker',
      authority: PEM,
      ...more,
    });

    expect(await complaints(JSON.stringify(pointer))).toBe('');
  },
);

it('names the fault of a config', async () => {
  const wrong = {
    ...firstConfig('3.5.0'),
    passwd: { users: [{ name: 'core' }, { name: 'core' }] },
  };

  expect(await complaints(JSON.stringify(wrong))).toMatch(/exit status 1: error at .*duplicate/);
});

it('names the fault of a config of the old specification', async () => {
  const files = [{ filesystem: 'root', path: 'not/absolute', mode: 420 }];
  const wrong = { ignition: { version: '2.2.0' }, storage: { files } };

  expect(await complaints(JSON.stringify(wrong), 2)).toMatch(
    /exit status 1: error at [^]*path not absolute/,
  );
});
