import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createHostFiles } from '../../../../adapters/host';
import { createRecordedOwnership } from '../../../../adapters/simulation/recorded-ownership';

describe('owners of a simulated host that may not set them', () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'slipway-owners-'));
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  const open = () =>
    createHostFiles({ root, ownership: createRecordedOwnership(join(root, '.owners.json')) });

  it('are remembered beside the files, which belong to the process', async () => {
    const owner = { uid: 1000, gid: 1000 };
    await open().writeFile('/key', { content: Buffer.from('x'), mode: 0o600, owner });

    expect(await open().look('/key')).toMatchObject({ owner });
    expect(statSync(join(root, 'key')).uid).toBe(process.getuid?.());
  });

  it('are root for whatever was never recorded', async () => {
    await open().writeFile('/a', {
      content: Buffer.from('x'),
      mode: 0o644,
      owner: { uid: 0, gid: 0 },
    });

    expect(await open().look('/a')).toMatchObject({ owner: { uid: 0, gid: 0 } });
  });
});
