import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { parseConfig } from '../../../../process/host/config-file';
import { readHostSettings, readMachineSettings } from '../../../../workers/host/settings';

describe('the file of settings', () => {
  const read = (text: string) => parseConfig(text, 'host.yaml');

  it.each([
    'node: w-1',
    'node: w-1 # a comment',
    'node: "w-1 # no comment"  # a comment',
    "node: 'it''s'",
    'node: "tab\\tquote\\""',
    'url: https://a.example:32624/#x',
    'seconds: 600',
    '---\n# comment\n\na: 1\nb: two words\n...',
  ])('is read as YAML reads it: %s', (text) => {
    const expected = parse(text) as Readonly<Record<string, unknown>>;
    const { values, problems } = read(text);

    expect(problems).toEqual([]);
    expect(values).toEqual(
      Object.fromEntries(Object.entries(expected).map(([name, value]) => [name, String(value)])),
    );
  });

  it.each([
    ['a: [1, 2]', 'line 1: a must be one plain or quoted text'],
    ['a: {b: c}', 'line 1: a must be one plain or quoted text'],
    ['a: |', 'line 1: a must be one plain or quoted text'],
    ['a: "open', 'line 1: a must be one plain or quoted text'],
    ['a: b: c', 'line 1: a must be one plain or quoted text'],
    ['a: *alias', 'line 1: a must be one plain or quoted text'],
    ['a: 1\na: 2', 'line 2: a is there twice'],
    ['  a: 1', 'line 1: expected "setting: value", not "a: 1"'],
    ['- a', 'line 1: expected "setting: value", not "- a"'],
  ])('refuses what is more than one value per line: %s', (text, problem) => {
    expect(read(text).problems).toEqual([`host.yaml: ${problem}`]);
  });
});

describe('the settings of a machine', () => {
  let directory: string;
  let configFile: string;
  let authorityFile: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'slipway-config-'));
    configFile = join(directory, 'host.yaml');
    authorityFile = join(directory, 'ca.crt');
    writeFileSync(authorityFile, 'PEM');
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  it('come from the file, then the environment, then the flags', () => {
    writeFileSync(
      configFile,
      `serverUrl: https://file:1\nnode: from-file\ndriver: none\nauthorityFile: ${authorityFile}\n` +
        'kubeletHealthUrl: none\nshutdownSeconds: 60\n',
    );
    const settings = readHostSettings(
      { configFile, node: 'from-flag' },
      { SLIPWAY_NODE: 'from-environment', SLIPWAY_SHUTDOWN_SECONDS: '70' },
    );

    expect(settings).toMatchObject({
      serverUrl: 'https://file:1',
      node: 'from-flag',
      shutdownSeconds: 70,
      driver: 'none',
    });
    expect(settings).not.toHaveProperty('kubeletHealthUrl');
  });

  it('are refused with every problem at once, those of the file included', () => {
    writeFileSync(
      configFile,
      'drivr: none\ndriver: apt\ninhibitorSeconds: soon\nshutdownSeconds: 3000000\nlist:\n  - a\n',
    );

    expect(() => readHostSettings({ configFile, authorityFile: join(directory, 'no') })).toThrow(
      expect.objectContaining({
        name: 'SettingsError',
        problems: [
          `${configFile}: line 6: expected "setting: value", not "- a"`,
          'drivr: no such setting; see slipway host-worker --help',
          'list: no such setting; see slipway host-worker --help',
          'serverUrl: is missing; for example https://slipway.example:22624',
          'driver: expected one of auto, rpm-ostree, bootc, ostree, none, not "apt"',
          'inhibitorSeconds: expected a number of at least 0, not "soon"',
          'shutdownSeconds: expected at most 1000000 seconds, not 3000000',
          `authorityFile: cannot read ${join(directory, 'no')} (ENOENT)`,
        ],
      }) as Error,
    );
  });

  it('need the file only when somebody names it', () => {
    const missing = join(directory, 'missing.yaml');

    expect(() => readMachineSettings({ configFile: missing })).toThrow(/cannot be read \(ENOENT\)/);
    expect(readMachineSettings({ driver: 'none' })).toMatchObject({ driver: 'none' });
  });

  it('settle without a server: only what the machine is, is asked for', () => {
    writeFileSync(configFile, 'driver: none\nnode: w-1\n');

    expect(readMachineSettings({ configFile })).toMatchObject({ node: 'w-1', root: '/' });
  });
});
