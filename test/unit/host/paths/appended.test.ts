import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { originalPath } from '../../../../core/machine-config';
import type { IgnitionFile } from '../../../../core/machine-config/types';
import { aConfig, aHost, orderFor, type TestConfig, type TestHost } from '../a-host';

const piece = (text: string) => ({ source: `data:,${encodeURIComponent(text)}` });
const packed = (text: string) => ({
  source: `data:;base64,${gzipSync(text).toString('base64')}`,
  compression: 'gzip',
});
const withFiles = (name: string, ...files: IgnitionFile[]) =>
  aConfig(name, { config: { storage: { files } } });
const NOTHING = withFiles('rendered-worker-nothing');

describe('a file that a config appends to', () => {
  let host: TestHost;
  let configs: TestConfig[];
  let run = 0;
  const at = (path: string) => join(host.root, path);
  const read = (path: string) => readFileSync(at(path), 'utf8');

  beforeEach(async () => {
    configs = [NOTHING];
    host = await aHost(configs);
    await change(NOTHING);
    writeFileSync(at('/etc/a'), 'original\n', { mode: 0o440 });
    execFileSync('setfattr', ['-n', 'user.label', '-v', 'etc_t', at('/etc/a')]);
  });
  afterEach(() => host.remove());

  async function change(config: TestConfig) {
    if (!configs.includes(config)) configs.push(config);
    run += 1;
    const order = (step: string) => ({ ...orderFor(config, step), orderId: `${run}/${step}` });
    const activities = await host.activities();
    const prepared = await activities.prepareUpdate(order('prepareUpdate'));
    await activities.applyUpdate(order('applyUpdate'));
    await activities.verifyUpdate(order('verifyUpdate'));
    await activities.commitUpdate(order('commitUpdate'));
    return prepared;
  }

  it('has what was there, and the pieces in their order; mode, owner and label stay', async () => {
    await change(withFiles('a', { path: '/etc/a', append: [piece('one\n'), packed('two\n')] }));

    expect(read('/etc/a')).toBe('original\none\ntwo\n');
    expect(statSync(at('/etc/a')).mode & 0o7777).toBe(0o440);
    const label = execFileSync('getfattr', [
      '--absolute-names',
      '-n',
      'user.label',
      '--only-values',
      at('/etc/a'),
    ]);
    expect(label.toString()).toBe('etc_t');
  });

  it('is the same however often it is applied, and by whatever config', async () => {
    const config = withFiles('a', { path: '/etc/a', append: [piece('one\n')] });
    await change(config);
    expect((await change(config)).alreadyOnTarget).toBe(true);
    await change(withFiles('b', { path: '/etc/a', append: [piece('two\n')], mode: 0o600 }));
    expect(read('/etc/a')).toBe('original\ntwo\n');
    expect(statSync(at('/etc/a')).mode & 0o7777).toBe(0o600);

    await change(withFiles('c', { path: '/etc/a', contents: piece('whole\n') }));
    expect(read('/etc/a')).toBe('whole\n');
    await change(config);
    expect(read('/etc/a')).toBe('original\none\n');
  });

  it('is what it was before when the config drops it', async () => {
    await change(withFiles('a', { path: '/etc/a', append: [piece('one\n')] }));
    await change(NOTHING);

    expect(read('/etc/a')).toBe('original\n');
    expect(statSync(at('/etc/a')).mode & 0o7777).toBe(0o440);
  });

  it('begins with contents when the config has some, and is new when nothing was there', async () => {
    await change(
      withFiles(
        'a',
        { path: '/etc/a', contents: piece('mine\n'), append: [piece('more\n')] },
        { path: '/etc/new', append: [piece('first\n')] },
      ),
    );
    expect(read('/etc/a')).toBe('mine\nmore\n');
    expect(read('/etc/new')).toBe('first\n');
    expect(statSync(at('/etc/new')).mode & 0o7777).toBe(0o644);
  });

  it('has drifted when anything in it changes', async () => {
    const config = withFiles('a', { path: '/etc/a', append: [piece('one\n')] });
    await change(config);
    writeFileSync(at('/etc/a'), 'Original\none\n');

    await expect(change(NOTHING)).rejects.toMatchObject({
      name: 'ConfigDrift',
      message: expect.stringContaining('content mismatch for file "/etc/a"') as string,
    });
  });

  it('finds its original again when Ignition wrote the file', async () => {
    const config = withFiles('a', { path: '/etc/a', append: [piece('one\n')] });
    await change(config);
    // As if this host had no record of the path.
    rmSync(at(originalPath('/etc/a')));

    await change(withFiles('b', { path: '/etc/a', append: [piece('two\n')] }));
    expect(read('/etc/a')).toBe('original\ntwo\n');
    await change(NOTHING);
    expect(read('/etc/a')).toBe('original\n');
  });

  it('must not be a link', async () => {
    symlinkSync('/etc/a', at('/etc/link'));

    await expect(
      change(withFiles('a', { path: '/etc/link', append: [piece('x')] })),
    ).rejects.toMatchObject({
      name: 'ApplyFailed',
      message: 'append to /etc/link: it is a link to /etc/a on the host',
    });
  });
});
