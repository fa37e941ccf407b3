import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createHostFiles, createOfflineSystemd, type HostSystemd } from '../../../../adapters/host';
import { simulatedOwnership } from '../../../../adapters/simulation';
import { parseInstallSection } from '../../../../core/systemd';

const ETC = '/etc/systemd/system';
const VENDOR = '/usr/lib/systemd/system';

describe('[Install]', () => {
  it('is read with continued lines, comments, resets and repetitions', () => {
    const contents = [
      '[Unit]',
      'WantedBy=not-this.target',
      '[Install]',
      '# WantedBy=nor-this.target',
      'WantedBy=first.target',
      'WantedBy=',
      'WantedBy=a.target \\',
      '  b.target',
      'RequiredBy = c.target',
      'Alias=other.service',
    ].join('\n');

    expect(parseInstallSection(contents)).toEqual({
      wantedBy: ['a.target', 'b.target'],
      requiredBy: ['c.target'],
      upheldBy: [],
      alias: ['other.service'],
      also: [],
    });
  });

  it.each([
    [`"a.target" 'b.target' c.target`, ['a.target', 'b.target', 'c.target']],
    [`"d.target"e.target`, ['d.targete.target']],
    [`one\\x2dtwo.target "s\\x69x.target"`, ['one\\x2dtwo.target', 's\\x69x.target']],
    // The rest after a fault is ignored.
    ['a.target "b.target c.target', ['a.target']],
  ])('has its quotes taken off: %s', (value, wantedBy) => {
    expect(parseInstallSection(`[Install]\nWantedBy=${value}\n`)?.wantedBy).toEqual(wantedBy);
  });

  it('keeps the quotes of Also, as systemd does', () => {
    expect(parseInstallSection('[Install]\nAlso="a.service"\n')?.also).toEqual(['"a.service"']);
  });

  it('is missing in a static unit', () => {
    expect(parseInstallSection('[Service]\nExecStart=/bin/true\n')).toBeUndefined();
  });
});

describe('systemd of a host that does not run', () => {
  let root: string;
  let systemd: HostSystemd;
  const at = (path: string) => join(root, path);
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(at(path)), { recursive: true });
    writeFileSync(at(path), text);
  };
  const link = (path: string): string | undefined =>
    existsSync(dirname(at(path))) ? tryReadlink(at(path)) : undefined;

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'slipway-units-'));
    mkdirSync(at(ETC), { recursive: true });
    systemd = createOfflineSystemd(createHostFiles({ root, ownership: simulatedOwnership(root) }));
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  it('enables a unit with the links that its [Install] section asks for', async () => {
    write(
      `${ETC}/a.service`,
      '[Install]\nWantedBy=x.target\nRequiredBy=y.target\nAlias=b.service\n',
    );
    expect(await systemd.enablement('a.service')).toBe('disabled');

    await systemd.setEnablement([{ unit: 'a.service', wish: 'enable' }]);

    expect(await systemd.enablement('a.service')).toBe('enabled');
    for (const path of ['x.target.wants/a.service', 'y.target.requires/a.service', 'b.service']) {
      expect(link(`${ETC}/${path}`)).toBe(`${ETC}/a.service`);
    }
  });

  it('says before which paths it will touch', async () => {
    write(`${ETC}/a.service`, '[Install]\nWantedBy=new.target\n');
    mkdirSync(at(`${ETC}/old.target.wants`));
    symlinkSync(`${ETC}/a.service`, at(`${ETC}/old.target.wants/a.service`));
    const change = [{ unit: 'a.service', wish: 'enable' as const }];

    expect(await systemd.enablementPaths(change)).toEqual([
      `${ETC}/new.target.wants/a.service`,
      // The directory goes with its last link.
      `${ETC}/old.target.wants`,
      `${ETC}/old.target.wants/a.service`,
    ]);
    await systemd.setEnablement(change);

    expect(link(`${ETC}/old.target.wants/a.service`)).toBeUndefined();
    expect(link(`${ETC}/new.target.wants/a.service`)).toBe(`${ETC}/a.service`);
  });

  it('enables and disables what Also names, and says so before', async () => {
    write(`${ETC}/a.service`, '[Install]\nWantedBy=x.target\nAlso=a.socket\n');
    write(`${ETC}/a.socket`, '[Install]\nWantedBy=sockets.target\nAlso=a.service\n');
    const links = [`${ETC}/sockets.target.wants/a.socket`, `${ETC}/x.target.wants/a.service`];
    const enable = [{ unit: 'a.service', wish: 'enable' as const }];
    expect(await systemd.enablementPaths(enable)).toEqual(links);

    await systemd.setEnablement(enable);
    expect(await systemd.enablement('a.socket')).toBe('enabled');

    const disable = [{ unit: 'a.service', wish: 'disable' as const }];
    expect(await systemd.enablementPaths(disable)).toEqual(
      links.flatMap((path) => [dirname(path), path]),
    );
    await systemd.setEnablement(disable);
    expect(await systemd.enablement('a.socket')).toBe('disabled');
  });

  it('counts a unit that only speaks for others as static', async () => {
    write(`${ETC}/a.service`, '[Install]\nAlso=a.socket\n');

    expect(await systemd.enablement('a.service')).toBe('static');
  });

  it('enables a template by its default instance, and disables every instance', async () => {
    write(`${ETC}/a@.service`, '[Install]\nWantedBy=x.target\nDefaultInstance=one\n');
    await systemd.setEnablement([
      { unit: 'a@.service', wish: 'enable' },
      { unit: 'a@two.service', wish: 'enable' },
    ]);
    const instances = ['one', 'two'].map((name) => `${ETC}/x.target.wants/a@${name}.service`);
    expect(instances.map(link)).toEqual([`${ETC}/a@.service`, `${ETC}/a@.service`]);

    const disable = [{ unit: 'a@.service', wish: 'disable' as const }];
    expect(await systemd.enablementPaths(disable)).toEqual([`${ETC}/x.target.wants`, ...instances]);
    await systemd.setEnablement(disable);
    expect(instances.map(link)).toEqual([undefined, undefined]);
  });

  it('disables a unit whoever made its links', async () => {
    write(`${VENDOR}/a.service`, '[Install]\nWantedBy=x.target\n');
    mkdirSync(at(`${ETC}/z.target.wants`));
    symlinkSync(`${VENDOR}/a.service`, at(`${ETC}/z.target.wants/a.service`));

    await systemd.setEnablement([{ unit: 'a.service', wish: 'disable' }]);

    expect(await systemd.enablement('a.service')).toBe('disabled');
  });

  it.each(['eth0', '10.0.0.1'])('links an instance to its template: %s', async (instance) => {
    write(`${VENDOR}/get@.service`, '[Install]\nWantedBy=x.target\n');
    const unit = `get@${instance}.service`;

    await systemd.setEnablement([{ unit, wish: 'enable' }]);

    expect(link(`${ETC}/x.target.wants/${unit}`)).toBe(`${VENDOR}/get@.service`);
    expect(await systemd.enablement(unit)).toBe('enabled');
  });

  it.each([
    ['enable a.service\ndisable *\n', 'enabled'],
    ['disable *\nenable a.service\n', 'disabled'],
    ['enable a.*\n', 'enabled'],
    ['enable b.service\n', 'enabled'],
    ['enable b.service\ndisable *\n', 'disabled'],
  ])('follows the first preset that matches: %j', async (preset, expected) => {
    write('/usr/lib/systemd/system-preset/50-x.preset', preset);
    write(`${ETC}/a.service`, '[Install]\nWantedBy=x.target\n');

    await systemd.setEnablement([{ unit: 'a.service', wish: 'preset' }]);

    expect(await systemd.enablement('a.service')).toBe(expected);
  });

  it.each([
    ['a.service', 'WantedBy=x', 'WantedBy= has a name that systemd takes for no unit'],
    ['a.service', 'Alias=b.timer', 'Alias= has a name that this unit cannot have'],
    ['b@.service', 'WantedBy=x.target', 'WantedBy= has a unit that cannot want a template'],
    ['a b.service', 'WantedBy=x.target', 'systemd takes the name for no unit'],
  ])('refuses to enable %j with %s, as systemctl does', async (unit, line, problem) => {
    write(`${ETC}/${unit}`, `[Install]\n${line}\n`);

    await expect(systemd.setEnablement([{ unit, wish: 'enable' }])).rejects.toThrow(
      `enable ${unit}: ${problem}`,
    );
    expect(await systemd.enablement(unit)).toBe('disabled');
    await systemd.setEnablement([{ unit, wish: 'disable' }]);
  });

  it('tells masked, static and absent units apart', async () => {
    symlinkSync('/dev/null', at(`${ETC}/m.service`));
    write(`${ETC}/s.service`, '[Service]\n');

    expect(await systemd.enablement('m.service')).toBe('masked');
    expect(await systemd.enablement('s.service')).toBe('static');
    expect(await systemd.enablement('n.service')).toBe('absent');
  });
});

function tryReadlink(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}
