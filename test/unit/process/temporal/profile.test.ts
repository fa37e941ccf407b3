import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { clusterWorkerSettings } from '../../../../workers/cluster/settings';

let directory: string;
let file: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'slipway-profile-'));
  file = join(directory, 'temporalio', 'temporal.toml');
  mkdirSync(dirname(file));
});
afterEach(() => rmSync(directory, { recursive: true }));

const CLOUD = `
[profile.default]
address = "default.example:7233"

[profile.cloud]
address = "prod.a1b2c.tmprl.cloud:7233"
namespace = "prod.a1b2c"
api_key = "the-secret"

[profile.mtls]
address = "mtls.example:7233"
[profile.mtls.tls]
client_cert_path = "/etc/tls.crt"
client_key_path = "/etc/tls.key"
server_ca_cert_path = "/etc/ca.crt"
server_name = "temporal"
[profile.mtls.codec]
endpoint = "https://codec.example"
`;

/** As a process reads them. */
function read(
  text: string,
  environment: Readonly<Record<string, string>> = {},
  flags: Readonly<Record<string, unknown>> = {},
) {
  writeFileSync(file, text, { mode: 0o600 });
  return clusterWorkerSettings(flags, { XDG_CONFIG_HOME: directory, ...environment });
}

describe('which profile', () => {
  it('is the default of the file of the user, where nothing is given', () => {
    expect(read(CLOUD)).toMatchObject({
      temporalAddress: 'default.example:7233',
      temporalNamespace: 'slipway',
    });
  });

  it('is none beside an address: a key never goes to another server', () => {
    const text = '[profile.default]\naddress = "a:1"\napi_key = "k"\n';

    const settings = read(text, { TEMPORAL_ADDRESS: 'here:7233' });

    expect(settings.temporalAddress).toBe('here:7233');
    expect(settings.temporalApiKey).toBeUndefined();
  });

  it('is the named one, and the environment and flags win over it', () => {
    const cloud = { TEMPORAL_PROFILE: 'cloud' };

    expect(read(CLOUD, cloud)).toMatchObject({
      temporalAddress: 'prod.a1b2c.tmprl.cloud:7233',
      temporalNamespace: 'prod.a1b2c',
      temporalApiKey: 'the-secret',
    });
    expect(
      read(
        CLOUD,
        { ...cloud, TEMPORAL_NAMESPACE: 'other.a1b2c' },
        { temporalAddress: 'flag:7233' },
      ),
    ).toMatchObject({ temporalAddress: 'flag:7233', temporalNamespace: 'other.a1b2c' });
    expect(read(CLOUD, cloud, { temporalProfile: 'mtls' }).temporalAddress).toBe(
      'mtls.example:7233',
    );
  });

  it('is in the named file', () => {
    writeFileSync(join(directory, 'mine.toml'), '[profile.default]\naddress = "mine:7233"\n');

    expect(
      read(CLOUD, { TEMPORAL_CONFIG_FILE: join(directory, 'mine.toml') }).temporalAddress,
    ).toBe('mine:7233');
  });

  it('is not needed where none is named', () => {
    expect(clusterWorkerSettings({}, { XDG_CONFIG_HOME: directory }).temporalAddress).toBe(
      '127.0.0.1:7233',
    );
    expect(read('[profile.other]\naddress = "a:1"\n').temporalAddress).toBe('127.0.0.1:7233');
  });
});

it('takes certificates, and ignores the codec of other workflows', () => {
  expect(read(CLOUD, { TEMPORAL_PROFILE: 'mtls' })).toMatchObject({
    temporalTlsCert: '/etc/tls.crt',
    temporalTlsKey: '/etc/tls.key',
    temporalTlsCa: '/etc/ca.crt',
    temporalTlsServerName: 'temporal',
  });
});

it('takes no TLS settings of a profile that turns TLS off', () => {
  const text = '[profile.default]\n[profile.default.tls]\ndisabled = true\nserver_name = "x"\n';

  expect(read(text).temporalTlsServerName).toBeUndefined();
});

it('leaves its key alone where a file with a key is given', () => {
  const settings = read(CLOUD, { TEMPORAL_PROFILE: 'cloud', TEMPORAL_API_KEY_FILE: '/key' });

  expect(settings.temporalApiKeyFile).toBe('/key');
  expect(settings.temporalApiKey).toBeUndefined();
});

describe('what is wrong', () => {
  const profile = (text: string) => `[profile.default]\n${text}\n`;

  it.each([
    [profile('adress = "a:1"'), /temporal.toml: profile.default.adress: no such key; it has addr/],
    [profile('address = 7233'), /profile.default.address: expected a text/],
    [profile('tls.client_cert_data = "PEM"'), /client_cert_data: .* ends with _path/],
    [profile('tls.disable_host_verification = true'), /always checks the certificate/],
    [profile('grpc_meta.x = "y"'), /grpc_meta.x: Slipway sends no headers of its own/],
    [profile('tls = {}'), /profile.default.tls: give server_ca_cert_path or server_name/],
    [profile('api_key = "k"\ntls.disabled = true'), /tls.disabled: an API key is sent only/],
    [profile('tls.client_cert_path = "/c"'), /tls.client_cert_path: it needs TEMPORAL_TLS_KEY/],
    ['profile = 1', /profile must be a table/],
  ])('is named by file and key: %j', (text, message) => {
    expect(() => read(text)).toThrow(message);
  });

  it('is a name that is not there', () => {
    expect(() => read(CLOUD, { TEMPORAL_PROFILE: 'clod' })).toThrow(
      /there is no \[profile.clod\]; there are: default, cloud, mtls/,
    );
    expect(() => read(CLOUD, { TEMPORAL_CONFIG_FILE: '/nowhere.toml' })).toThrow(
      /\/nowhere.toml: cannot be read/,
    );
  });

  it('never shows a key, not even where the file is no TOML', () => {
    const attempt = () => read('[profile.default]\napi_key = "the-secret" oops\n');

    expect(attempt).toThrow(/temporal.toml: Invalid TOML/);
    expect(attempt).not.toThrow(/the-secret/);
  });

  it('is a key that everybody may read, if it is used', () => {
    writeFileSync(file, CLOUD);
    chmodSync(file, 0o644);
    const of = (environment: Readonly<Record<string, string>>) => () =>
      clusterWorkerSettings({}, { TEMPORAL_CONFIG_FILE: file, ...environment });

    expect(of({ TEMPORAL_PROFILE: 'cloud' })).toThrow(/cloud.api_key: everybody may read the file/);
    expect(of({ TEMPORAL_PROFILE: 'cloud' })).not.toThrow(/the-secret/);
    expect(of({ TEMPORAL_PROFILE: 'cloud', TEMPORAL_API_KEY_FILE: '/key' })).not.toThrow();
    expect(of({ TEMPORAL_PROFILE: 'default' })).not.toThrow();
  });
});
