import {
  readSettings,
  SettingsError,
  TemporalSettings,
  variableOf,
} from '../../../process/settings';
import { controllerSettings } from '../../../controllers/settings';
import { ServerSettings } from '../../../server/settings';
import { clusterWorkerSettings } from '../../../workers/cluster/settings';

it('has defaults for everything', () => {
  expect(clusterWorkerSettings({}, {})).toMatchObject({
    temporalAddress: '127.0.0.1:7233',
    temporalNamespace: 'slipway',
    logLevel: 'info',
    maxActivities: 2_000,
    allowMco: false,
  });
});

it('reads the environment, and flags win over it', () => {
  const environment = {
    TEMPORAL_ADDRESS: 'temporal:7233',
    KUBECONFIG: '/etc/kube',
    SLIPWAY_MAX_ACTIVITIES: '7',
    SLIPWAY_ALLOW_MCO: 'true',
    SLIPWAY_LOG_LEVEL: '',
  };

  const settings = clusterWorkerSettings(
    { kubeconfig: '/tmp/kube', context: undefined },
    environment,
  );

  expect(settings).toMatchObject({
    temporalAddress: 'temporal:7233',
    kubeconfig: '/tmp/kube',
    maxActivities: 7,
    allowMco: true,
    logLevel: 'info',
  });
});

it('names every setting that cannot be used, by where it came from', () => {
  const read = () =>
    clusterWorkerSettings(
      { metricsPort: '70000' },
      { SLIPWAY_LOG_LEVEL: 'loud', KUBECONFIG: '/k' },
    );

  expect(read).toThrow(SettingsError);
  expect(read).toThrow(
    /--metrics-port: .*\n {2}SLIPWAY_LOG_LEVEL: |SLIPWAY_LOG_LEVEL: .*\n {2}--metrics-port: /,
  );
});

it.each(['on', 'TRUE', 'yes', '1'])('takes %s for true in every process', (text) => {
  const environment = { SLIPWAY_ALLOW_MCO: text };

  expect(clusterWorkerSettings({}, environment).allowMco).toBe(true);
  expect(controllerSettings({}, environment).allowMco).toBe(true);
});

it('is frozen', () => {
  expect(Object.isFrozen(clusterWorkerSettings({}, {}))).toBe(true);
});

it('names the environment variable of a setting', () => {
  expect(variableOf('maxCachedWorkflows')).toBe('SLIPWAY_MAX_CACHED_WORKFLOWS');
  expect(variableOf('temporalTlsCa')).toBe('TEMPORAL_TLS_CA');
});

it('refuses a certificate without its key', () => {
  expect(() => clusterWorkerSettings({ temporalTlsCert: '/tls.crt' }, {})).toThrow(
    /--temporal-tls-cert: it needs TEMPORAL_TLS_KEY beside it/,
  );
});

it('refuses an API key beside the file of one, and shows neither', () => {
  const attempt = () =>
    clusterWorkerSettings({ temporalApiKeyFile: '/key' }, { TEMPORAL_API_KEY: 'secret' });
  expect(attempt).toThrow(/TEMPORAL_API_KEY: --temporal-api-key-file is there, too/);
  expect(attempt).not.toThrow(/secret/);
});

test('what is missing says how to set it, and what is no number is quoted', () => {
  expect(() => readSettings(ServerSettings, { hostPort: 'abc', keyFile: '/key.pem' }, {})).toThrow(
    new SettingsError([
      '--host-port: expected a number, not "abc"',
      'certificateFile: is missing; set --certificate-file or SLIPWAY_CERTIFICATE_FILE',
    ]).message,
  );
});

it('refuses an API key for a connection without TLS', () => {
  const environment = { TEMPORAL_TLS: 'false', TEMPORAL_API_KEY: 'k1', TEMPORAL_ADDRESS: 't:7233' };

  expect(() => readSettings(TemporalSettings, {}, environment)).toThrow(
    'TEMPORAL_TLS: an API key (TEMPORAL_API_KEY) is sent only with TLS',
  );
});
