/** Units of a staged deployment are enabled or disabled for its own boot. */

import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import {
  createHostFiles,
  createOfflineSystemd,
  createSystemctl,
  type EnablementChange,
} from '../../../../adapters/host';
import { simulatedOwnership } from '../../../../adapters/simulation';

const ETC = '/etc/systemd/system';
const VENDOR = '/usr/lib/systemd/system';
const ID = `${'a'.repeat(64)}.0`;
const NEXT = `/sysroot/ostree/deploy/os/deploy/${ID}`;

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'slipway-next-'));
  mkdirSync(join(root, ETC), { recursive: true });
  mkdirSync(join(root, NEXT, 'usr'), { recursive: true });
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const files = () => createHostFiles({ root, sync: false, ownership: simulatedOwnership(root) });
const write = (path: string, text: string): void => {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
};
const linkTo = (path: string, target: string): void => {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  symlinkSync(target, join(root, path));
};
const target = (path: string): string | undefined =>
  lstatSync(join(root, path), { throwIfNoEntry: false })?.isSymbolicLink() === true
    ? readlinkSync(join(root, path))
    : undefined;
const wantedBy = (name: string) => `[Install]\nWantedBy=${name}.target\n`;
const wants = (name: string, unit = 'a.service') => `${ETC}/${name}.target.wants/${unit}`;

const enable: EnablementChange = { unit: 'a.service', wish: 'enable' };
const disable: EnablementChange = { unit: 'a.service', wish: 'disable' };
const preset: EnablementChange = { unit: 'a.service', wish: 'preset' };

const atNextBoot = () => createOfflineSystemd(files()).atBootOf(ID);

describe('units at the boot of a staged deployment', () => {
  it('are enabled by its files, with links to where they will be', async () => {
    write(`${NEXT}${VENDOR}/a.service`, `${wantedBy('x')}Alias=b.service\nAlso=a.socket\n`);
    write(`${NEXT}${VENDOR}/a.socket`, wantedBy('sockets'));
    const units = await atNextBoot();
    expect(await createOfflineSystemd(files()).enablement('a.service')).toBe('absent');
    expect(await units.enablement('a.service')).toBe('disabled');
    expect(await units.isVendorUnit('a.service')).toBe(true);

    const links = [`${ETC}/b.service`, wants('sockets', 'a.socket'), wants('x')];
    expect(await units.enablementPaths([enable])).toEqual(links);
    await units.setEnablement([enable]);

    expect(links.map(target)).toEqual([
      `${VENDOR}/a.service`,
      `${VENDOR}/a.socket`,
      `${VENDOR}/a.service`,
    ]);
    expect(await units.enablement('a.service')).toBe('enabled');
  });

  it('follow its presets, and not those of the running system', async () => {
    write('/usr/lib/systemd/system-preset/50.preset', 'enable *\n');
    write(`${NEXT}/usr/lib/systemd/system-preset/50.preset`, 'disable a.service\nenable *\n');
    write(`${NEXT}${VENDOR}/a.service`, wantedBy('x'));
    write(`${NEXT}${VENDOR}/b.service`, wantedBy('x'));

    await (await atNextBoot()).setEnablement([preset, { unit: 'b.service', wish: 'preset' }]);

    expect([wants('x'), wants('x', 'b.service')].map(target)).toEqual([
      undefined,
      `${VENDOR}/b.service`,
    ]);
  });

  it('get the links of the new [Install] section, with the drop-ins of this machine', async () => {
    write(`${VENDOR}/a.service`, wantedBy('old'));
    linkTo(wants('old'), `${VENDOR}/a.service`);
    write(`${NEXT}${VENDOR}/a.service`, wantedBy('new'));
    write(`${ETC}/a.service.d/10.conf`, wantedBy('more'));

    await (await atNextBoot()).setEnablement([enable]);

    expect(['old', 'new', 'more'].map((name) => target(wants(name)))).toEqual([
      undefined,
      `${VENDOR}/a.service`,
      `${VENDOR}/a.service`,
    ]);
  });

  it('are those of /etc in the new image where nobody changed them here', async () => {
    const [mine, theirs] = [`${ETC}/a.service`, `${ETC}/b.service`];
    write(mine, wantedBy('mine'));
    write(`/usr${mine}`, wantedBy('old'));
    write(`${NEXT}/usr${mine}`, wantedBy('new'));
    write(theirs, wantedBy('old'));
    write(`/usr${theirs}`, wantedBy('old'));
    write(`${NEXT}/usr${theirs}`, wantedBy('new'));
    write(`${NEXT}/usr${ETC}/c.service`, wantedBy('new'));
    const units = await atNextBoot();

    await units.setEnablement([
      enable,
      { unit: 'b.service', wish: 'enable' },
      { unit: 'c.service', wish: 'enable' },
    ]);

    expect(target(wants('mine'))).toBe(mine);
    expect(target(wants('new', 'b.service'))).toBe(theirs);
    expect(target(wants('new', 'c.service'))).toBe(`${ETC}/c.service`);
  });

  it('are counted as enabled when the new image enables them itself', async () => {
    write(`${NEXT}${VENDOR}/a.service`, wantedBy('x'));
    linkTo(`${NEXT}/usr${wants('x')}`, `${VENDOR}/a.service`);

    expect(await (await atNextBoot()).enablement('a.service')).toBe('enabled');
  });

  it('are gone when only the running image has them, and their old links can be taken away', async () => {
    write(`${VENDOR}/a.service`, wantedBy('x'));
    const units = await atNextBoot();
    expect(await units.enablement('a.service')).toBe('absent');
    expect(await units.isVendorUnit('a.service')).toBe(false);
    linkTo(wants('x'), `${VENDOR}/a.service`);

    expect(await units.enablementPaths([disable])).toContain(wants('x'));
    await units.setEnablement([disable]);

    expect(target(wants('x'))).toBeUndefined();
  });

  it('are not those that a generator of this boot made', async () => {
    write('/run/systemd/system/a.service', wantedBy('x'));

    expect(await (await atNextBoot()).enablement('a.service')).toBe('absent');
  });

  it('are those of the running system where the deployment has no tree', async () => {
    write(`${VENDOR}/a.service`, wantedBy('x'));
    const systemd = createOfflineSystemd(files());

    expect(await (await systemd.atBootOf('simulated-1')).enablement('a.service')).toBe('disabled');
  });
});

describe('systemctl, which knows the running system only,', () => {
  const log = () => join(root, 'told');
  const told = () => (existsSync(log()) ? readFileSync(log(), 'utf8').trim().split('\n') : []);
  const units = () => {
    const program = join(root, 'systemctl');
    writeFileSync(program, `#!/bin/sh\necho "$@" >>'${log()}'\n`, { mode: 0o755 });
    return createSystemctl(files(), program).atBootOf(ID);
  };

  it('enables what is the same in both', async () => {
    for (const tree of ['', NEXT]) write(`${tree}${VENDOR}/a.service`, wantedBy('x'));

    await (await units()).setEnablement([enable]);

    expect(told()).toEqual(['disable -- a.service', 'enable -- a.service']);
  });

  it('is not asked about a unit that only the staged deployment has, or has otherwise', async () => {
    write(`${NEXT}${VENDOR}/a.service`, wantedBy('x'));
    write(`${VENDOR}/b.service`, wantedBy('old'));
    write(`${NEXT}${VENDOR}/b.service`, wantedBy('new'));

    await (await units()).setEnablement([enable, { unit: 'b.service', wish: 'enable' }]);

    expect(told()).toEqual([]);
    expect(target(wants('x'))).toBe(`${VENDOR}/a.service`);
    expect(target(wants('new', 'b.service'))).toBe(`${VENDOR}/b.service`);
  });

  it('disables a unit that goes with the running system, and what that one says of it', async () => {
    write(`${VENDOR}/a.service`, `${wantedBy('x')}Also=a.socket\n`);
    write(`${VENDOR}/a.socket`, wantedBy('sockets'));
    linkTo(wants('x'), `${VENDOR}/a.service`);
    linkTo(wants('sockets', 'a.socket'), `${VENDOR}/a.socket`);
    const next = await units();

    expect(await next.enablementPaths([disable])).toEqual(
      expect.arrayContaining([wants('x'), wants('sockets', 'a.socket')]),
    );
    await next.setEnablement([disable]);

    expect(told()).toEqual(['disable -- a.service']);
  });
});
