import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createHostFiles } from '../../../../adapters/host';
import { createSimulatedOs, simulatedOwnership } from '../../../../adapters/simulation';

describe('the simulated operating system', () => {
  let root: string;
  const open = () =>
    createSimulatedOs({
      files: createHostFiles({ root, sync: false, ownership: simulatedOwnership(root) }),
      pace: { take: () => Promise.resolve() },
    });
  const context = { signal: new AbortController().signal, progress: () => undefined };
  const boot = { broken: false };

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'slipway-os-'));
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  it('boots what was staged only when it was finalized', async () => {
    const os = await open();
    await os.stage('image-1', context);
    await os.boot(boot);
    expect((await os.status()).booted.image).toBe('');

    await os.stage('image-1', context);
    await os.finalize();
    await os.boot(boot);
    expect(await os.status()).toMatchObject({
      booted: { image: 'image-1' },
      rollback: { image: '' },
    });
    expect(await os.status()).not.toHaveProperty('staged');
  });

  it('has another boot ID after each boot, and finds its state again', async () => {
    const os = await open();
    const before = (await os.status()).bootId;
    const after = await os.boot(boot);

    expect(after).not.toBe(before);
    expect((await (await open()).status()).bootId).toBe(after);
  });

  it('changes arguments and extensions in the staged deployment, as often as it is told', async () => {
    const os = await open();
    const change = { from: [], to: ['nosmt', 'a=1 b=2'] };
    await os.setKernelArguments(change);
    await os.setKernelArguments(change);
    await os.setExtensions({ to: ['usbguard'] });
    expect((await os.status()).booted.kernelArguments).toEqual([]);
    await os.finalize();
    await os.boot(boot);

    await os.setKernelArguments({ from: change.to, to: ['b=2'] });
    await os.finalize();
    await os.boot(boot);

    expect((await os.status()).booted).toMatchObject({
      kernelArguments: ['b=2'],
      extensions: ['usbguard'],
    });
  });

  it('returns to the deployment before, and says when there is none', async () => {
    const os = await open();
    await expect(os.rollback('elsewhere')).rejects.toMatchObject({ name: 'RollbackFailed' });
    const before = (await os.status()).booted.id;
    await os.stage('image-1', context);
    await os.finalize();
    await os.boot(boot);

    await os.rollback(before);
    await os.boot(boot);

    expect((await os.status()).booted.image).toBe('');
  });

  it('comes up with something else when the boot is broken', async () => {
    const os = await open();
    await os.stage('image-1', context);
    await os.finalize();
    const expected = (await os.status()).staged?.id;

    await os.boot({ broken: true });

    expect((await os.status()).booted.id).not.toBe(expected);
    expect((await os.status()).booted.image).toBe('');
  });
});
