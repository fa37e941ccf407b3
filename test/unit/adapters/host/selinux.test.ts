import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AttributePort, createAttributes, NODE_FILE_SYSTEM } from '../../../../adapters/host';
import { parentsBelow } from '../../../../adapters/host/disk';
import { changeAll } from '../../../../adapters/host/file-changes';
import { createRelabel } from '../../../../adapters/host/selinux';
import { simulatedOwnership } from '../../../../adapters/simulation';

describe('programs that know what Node does not', () => {
  let scratch: string;
  beforeEach(() => {
    scratch = mkdtempSync(join(tmpdir(), 'slipway-programs-'));
  });
  afterEach(() => rmSync(scratch, { recursive: true, force: true }));

  function program(text: string): string {
    const path = join(scratch, 'program');
    writeFileSync(path, `#!/bin/sh\n${text}\n`);
    chmodSync(path, 0o755);
    return path;
  }
  const machine = (text: string, isOn = true) => {
    const enforceFile = join(scratch, 'enforce');
    if (isOn) writeFileSync(enforceFile, '1');
    return { program: program(text), enforceFile };
  };

  it('label new files with one process, whatever they are called', async () => {
    const seen = join(scratch, 'seen');

    await createRelabel('/', machine(`cat > ${seen}`))(['/etc/a', '/etc/b\nc']);

    expect(readFileSync(seen, 'utf8')).toBe('/etc/a\0/etc/b\nc\0');
  });

  it('are not asked without SELinux, for another root, or for nothing', async () => {
    const seen = join(scratch, 'seen');
    await createRelabel('/', machine(`touch ${seen}`, false))(['/etc/a']);
    await createRelabel('/srv/root', machine(`touch ${seen}`))(['/etc/a']);
    await createRelabel('/', machine(`touch ${seen}`))([]);
    expect(existsSync(seen)).toBe(false);

    const missing = { ...machine('true'), program: '/no/such/restorecon' };
    await expect(createRelabel('/', missing)(['/etc/a'])).resolves.toBeUndefined();
  });

  it('say why a label could not be set', async () => {
    const relabel = createRelabel('/', machine('echo "no such policy" >&2; exit 1'));

    await expect(relabel(['/etc/a'])).rejects.toMatchObject({
      name: 'ApplyFailed',
      message: 'label new files: no such policy',
    });
  });

  it('say why an attribute could not be set, unless the file system knows none', async () => {
    const write = (text: string) =>
      createAttributes({ get: 'getfattr', set: program(text) }).write([
        { fd: 0, attributes: { 'user.a': 'eA==' } },
      ]);

    await expect(write('echo "setfattr: x: Permission denied" >&2; exit 1')).rejects.toThrow(
      /setfattr: x: Permission denied$/,
    );
    await expect(
      write('echo "setfattr: x: No space left on device" >&2; exit 1'),
    ).rejects.toMatchObject({ code: 'ENOSPC' });
    await expect(
      write('echo "setfattr: x: Disk quota exceeded" >&2; exit 1'),
    ).rejects.toMatchObject({
      code: 'EDQUOT',
    });
    await expect(write('echo "setfattr: x: Operation not supported" >&2; exit 1')).resolves.toBe(
      true,
    );
  });
});

describe('a file that is rewritten', () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'slipway-labels-'));
    writeFileSync(join(root, 'kept'), 'old');
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  const LABEL = { 'security.selinux': 'ZXRjX3Q=' };

  /** The paths that the policy labels after one of them was rewritten. */
  async function labelled(attributes: AttributePort): Promise<readonly string[]> {
    const paths: string[] = [];
    const disk = {
      fs: NODE_FILE_SYSTEM,
      ownership: simulatedOwnership(root),
      attributes,
      relabel: async (found: readonly string[]) => void paths.push(...found),
      sync: false,
      parentOf: parentsBelow(NODE_FILE_SYSTEM, root),
    };
    const file = {
      kind: 'file',
      content: Buffer.from('new'),
      mode: 0o644,
      owner: { uid: 0, gid: 0 },
      attributes: { keep: true },
    } as const;
    await changeAll(disk, [{ path: '/kept', state: file }]);
    return paths;
  }
  const having = (isWritten: boolean): AttributePort => ({
    read: async (fds) => fds.map(() => LABEL),
    write: async () => isWritten,
  });

  it('keeps its label, and is not labelled again', async () => {
    expect(await labelled(having(true))).toEqual([]);
  });

  it('is labelled by the policy when nothing could read its label, or write it', async () => {
    expect(await labelled(createAttributes({ get: '/no/getfattr', set: '/no/setfattr' }))).toEqual([
      '/kept',
    ]);
    expect(await labelled(having(false))).toEqual(['/kept']);
    const { write } = createAttributes({ get: '/no/getfattr', set: '/no/setfattr' });
    expect(await write([{ fd: 0, attributes: LABEL }])).toBe(false);
  });
});
