import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HOST_WORKER_FLAGS, readHostSettings } from '../../../../workers/host/worker';

describe('the settings of the host worker', () => {
  let directory: string;
  let authorityFile: string;
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'slipway-settings-'));
    authorityFile = join(directory, 'ca.crt');
    writeFileSync(authorityFile, 'PEM');
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  const simulated = (more: object = {}) => ({
    serverUrl: 'https://127.0.0.1:22624',
    simulate: '3',
    baseDirectory: '/tmp/hosts',
    credentialsDirectory: directory,
    ...more,
  });

  it('describe this machine', () => {
    const settings = readHostSettings({ serverUrl: 'https://s:1', node: 'w-1', authorityFile });

    expect(settings).toMatchObject({
      kind: 'single',
      node: 'w-1',
      root: '/',
      driver: 'auto',
      commandLineFile: '/proc/cmdline',
      kubeletHealthUrl: 'http://127.0.0.1:10248/healthz',
      temporalNamespace: 'slipway',
    });
    expect(settings.metrics).toBeUndefined();
  });

  it('lead to the gateway, or to Temporal itself', () => {
    const machine = { serverUrl: 'https://s:1', node: 'w-1', authorityFile };
    const gatewayAddress = 's:22625';

    expect(readHostSettings({ ...machine, gatewayAddress })).toMatchObject({
      temporalAddress: 's:22625',
      isDirect: false,
    });
    expect(readHostSettings(machine)).toMatchObject({
      temporalAddress: '127.0.0.1:7233',
      isDirect: true,
    });
    for (const name of ['temporalAddress', 'temporalApiKey', 'temporalTlsCa']) {
      expect(() => readHostSettings({ ...machine, gatewayAddress, [name]: 'x' })).toThrow(
        `${name}: gatewayAddress is there, and the gateway takes the certificate of the kubelet; leave it out`,
      );
    }
  });

  it('do not come from a profile that nobody names, with the gateway', () => {
    const home = join(directory, '.config', 'temporalio');
    mkdirSync(home, { recursive: true });
    writeFileSync(join(home, 'temporal.toml'), '[profile.default]\naddress = "mine:7233"\n');

    const machine = { serverUrl: 'https://s:1', node: 'w-1', authorityFile };
    const read = (more: object) => readHostSettings({ ...machine, ...more }, { HOME: directory });

    expect(read({ gatewayAddress: 's:2' })).toMatchObject({ temporalAddress: 's:2' });
    expect(read({})).toMatchObject({ temporalAddress: 'mine:7233' });
  });

  it('describe simulated machines by number, or by name', () => {
    const counted = readHostSettings(simulated({ nodePrefix: 'zone-a-' }));
    const named = readHostSettings(simulated({ nodes: 'a,b, c,a' }));

    expect(counted).toMatchObject({ nodes: ['zone-a-1', 'zone-a-2', 'zone-a-3'] });
    expect(named).toMatchObject({ kind: 'simulated', nodes: ['a', 'b', 'c'] });
  });

  it('come from a profile of temporal.toml, which flags and the file of the machine may name', () => {
    const temporalConfigFile = join(directory, 'temporal.toml');
    const key = 'api_key = "the-secret"';
    const text = `[profile.cloud]\naddress = "cloud:7233"\nnamespace = "prod"\n${key}\n`;
    writeFileSync(temporalConfigFile, text, { mode: 0o600 });
    const configFile = join(directory, 'profile.yaml');
    const lines = [`temporalConfigFile: ${temporalConfigFile}`, 'temporalProfile: cloud'];
    writeFileSync(configFile, [...lines, 'serverUrl: https://s:1'].join('\n'));
    const cloud = {
      temporalAddress: 'cloud:7233',
      temporalNamespace: 'prod',
      temporalApiKey: 'the-secret',
    };

    expect(
      readHostSettings(simulated({ temporalConfigFile, temporalProfile: 'cloud' })),
    ).toMatchObject(cloud);
    expect(readHostSettings({ configFile, node: 'w-1', authorityFile })).toMatchObject(cloud);
    expect(
      readHostSettings({ configFile, node: 'w-1', authorityFile }, { TEMPORAL_NAMESPACE: 'other' }),
    ).toMatchObject({ ...cloud, temporalNamespace: 'other' });
    expect(() => readHostSettings({ configFile, temporalProfile: 'clod', authorityFile })).toThrow(
      /there is no \[profile.clod\]/,
    );
  });

  it('know durations and failures', () => {
    const settings = readHostSettings(
      simulated({
        rebootSeconds: '0.5',
        jitter: 0,
        fail: ['node=w-3,at=verify,times=2', 'node=w-4,at=boot'],
      }),
    );

    expect(settings).toMatchObject({
      durations: { rebootSeconds: 0.5, jitter: 0 },
      failures: [
        { node: 'w-3', at: 'verify', times: 2 },
        { node: 'w-4', at: 'boot', times: 1 },
      ],
    });
  });

  it('come from the environment when no flag says otherwise', () => {
    const environment = {
      SLIPWAY_SERVER_URL: 'https://env:1',
      SLIPWAY_LOG_LEVEL: 'debug',
      TEMPORAL_ADDRESS: 'temporal:7233',
      SLIPWAY_NODE: '',
    };
    const settings = readHostSettings(
      { node: 'w-1', authorityFile, logLevel: 'warn' },
      environment,
    );

    expect(settings).toMatchObject({
      serverUrl: 'https://env:1',
      logLevel: 'warn',
      temporalAddress: 'temporal:7233',
    });
  });

  it('name every problem at once', () => {
    const attempt = () =>
      readHostSettings({
        serverUrl: 'http://plain',
        simulate: 'many',
        logLevel: 'loud',
        rebootSeconds: '-1',
        fail: ['node=w-1,at=lunch', 'at=boot', 'node=a,at=boot,when=now'],
        temporalTlsCert: authorityFile,
        metricsPort: 'x',
      });

    expect(attempt).toThrow(expect.objectContaining({ name: 'SettingsError' }) as Error);
    for (const problem of [
      /serverUrl: expected an https URL, not "http:\/\/plain"/,
      /simulate: expected a number of at least 1, not "many"/,
      /logLevel: expected one of .*, not "loud"/,
      /rebootSeconds: expected a number of at least 0/,
      /fail: expected node=NAME.*not "node=w-1,at=lunch"/,
      /fail: .*"at=boot"/,
      /fail: .*when=now/,
      /baseDirectory: is missing/,
      /credentialsDirectory: is missing/,
      /authorityFile: cannot read/,
      /temporalTlsCert: a certificate and its key belong together/,
      /metricsPort: expected a number/,
    ]) {
      expect(attempt).toThrow(problem);
    }
  });

  it('leave the kubelet to be found, but for what a person has set', () => {
    const flags = { serverUrl: 'https://s:1', node: 'w-1' };
    const set = { kubeletUnit: 'my-kubelet.service', certificateFile: '/a.pem', authorityFile };

    expect(readHostSettings(flags)).toMatchObject({ kubelet: {} });
    expect(readHostSettings({ ...flags, ...set })).toMatchObject({ kubelet: set });
    expect(readHostSettings(flags, { SLIPWAY_KUBELET_UNIT: 'k3s-blue.service' })).toMatchObject({
      kubelet: { kubeletUnit: 'k3s-blue.service' },
    });
    for (const [wrong, problem] of [
      [{ kubeletUnit: 'k3s' }, /kubeletUnit: expected a service such as .*, not "k3s"/],
      [{ keyFile: '/a.key' }, /certificateFile: a certificate and its key belong together/],
      [{ authorityFile: '/none' }, /authorityFile: cannot read \/none/],
    ] as const) {
      expect(() => readHostSettings({ ...flags, ...wrong })).toThrow(problem);
    }
  });

  it('name the API key for Temporal, or a file that holds it, as the other processes do', () => {
    const machine = { serverUrl: 'https://s:1', node: 'w-1', authorityFile };
    const read = (more: object, environment = {}) =>
      readHostSettings({ ...machine, ...more }, environment);
    const temporalApiKeyFile = join(directory, 'api-key');
    writeFileSync(temporalApiKeyFile, 'secret', { mode: 0o600 });

    expect(read({}, { TEMPORAL_API_KEY: 'k1' })).toMatchObject({ temporalApiKey: 'k1' });
    expect(read({ temporalApiKeyFile })).toMatchObject({ temporalApiKeyFile });
    expect(() => read({ temporalApiKeyFile, temporalApiKey: 'k1' })).toThrow(/leave one of them/);
    expect(() => read({ temporalApiKeyFile: '/nowhere' })).toThrow(
      /temporalApiKeyFile: cannot read \/nowhere \(ENOENT\)/,
    );
  });

  it('refuse an API key in a file that everybody may read, and do not show it', () => {
    const configFile = join(directory, 'host.yaml');
    const lines = [
      'serverUrl: https://s:1',
      `authorityFile: ${authorityFile}`,
      'temporalApiKey: secret',
    ];
    writeFileSync(configFile, `${lines.join('\n')}\n`);
    const attempt = () => readHostSettings({ configFile });

    chmodSync(configFile, 0o644);
    expect(attempt).toThrow(
      /temporalApiKey: everybody may read .*host.yaml; .* temporalApiKeyFile/,
    );
    expect(attempt).not.toThrow(/secret/);
    chmodSync(configFile, 0o640);
    expect(attempt()).toMatchObject({ temporalApiKey: 'secret' });
  });

  it('have one flag and one variable each', () => {
    const variables = HOST_WORKER_FLAGS.map(({ variable }) => variable);

    expect(new Set(variables).size).toBe(variables.length);
    expect(HOST_WORKER_FLAGS).toContainEqual(
      expect.objectContaining({ setting: 'serverUrl', variable: 'SLIPWAY_SERVER_URL' }),
    );
  });
});
