import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  createFailurePlan,
  createSimulatedMachine,
  DEFAULT_DURATIONS,
} from '../../../../adapters/simulation';

describe('a simulated machine', () => {
  let root: string;
  beforeEach(() => {
    root = join(mkdtempSync(join(tmpdir(), 'slipway-machine-')), 'worker-1');
  });
  afterEach(() => rmSync(join(root, '..'), { recursive: true, force: true }));

  const open = () =>
    createSimulatedMachine({
      node: 'worker-1',
      root,
      durations: DEFAULT_DURATIONS,
      failures: createFailurePlan([{ node: 'worker-1', at: 'apply', times: 1 }]),
    });
  const file = { content: Buffer.from('x'), mode: 0o644, owner: { uid: 0, gid: 0 } };

  it('has the users that configs speak of, and says that it is simulated', async () => {
    await open();

    expect(readFileSync(join(root, 'etc/passwd'), 'utf8')).toContain('core:x:1000:');
    expect(readFileSync(join(root, 'etc/os-release'), 'utf8')).toContain('Simulated host');
  });

  it('is found as it was left', async () => {
    const first = await open();
    await first.files.writeFile('/etc/passwd', { ...file, content: Buffer.from('changed') });
    const { bootId } = await first.os.status();

    const second = await open();

    expect(readFileSync(join(root, 'etc/passwd'), 'utf8')).toBe('changed');
    expect((await second.os.status()).bootId).toBe(bootId);
  });

  it('fails once at writing a configured file, but not at its own records or its first boot', async () => {
    const { files, enableFailures } = await open();
    await files.writeFile('/etc/first-boot', file);
    enableFailures();
    await files.writeFile('/var/lib/slipway/orders.json', file);

    await expect(files.writeFile('/etc/a', file)).rejects.toMatchObject({ code: 'EIO' });
    expect(existsSync(join(root, 'etc/a'))).toBe(false);
    await files.writeFile('/etc/a', file);
    expect(existsSync(join(root, 'etc/a'))).toBe(true);
  });
});
