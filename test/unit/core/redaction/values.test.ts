import { createHash } from 'node:crypto';
import { gunzipSync, gzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import { redactValue } from '../../../../core/redaction';
import { encodeDataUrl } from '../../../../core/encoding';

const PORTS = {
  gunzip: (bytes: Uint8Array) => gunzipSync(bytes),
  fingerprint: (contents: Uint8Array) =>
    createHash('sha256').update('salt').update(contents).digest('hex').slice(0, 8),
};
const redacted = (value: unknown) => redactValue(value, PORTS);
const PLANT = 'hunter2';

const IGNITION = {
  ignition: { version: '3.5.0', config: { merge: [{ source: `https://x/?t=${PLANT}` }] } },
  passwd: { users: [{ name: 'core', passwordHash: PLANT, sshAuthorizedKeys: [PLANT] }] },
  storage: {
    files: [
      {
        path: '/etc/registry.conf',
        mode: 384,
        contents: { source: encodeDataUrl(PLANT), verification: { hash: 'sha512-abc' } },
      },
    ],
    luks: [{ name: 'data', device: '/dev/sdb', keyFile: { source: `data:,${PLANT}` } }],
  },
  systemd: {
    units: [
      {
        name: 'app.service',
        enabled: true,
        contents: `[Service]\nExecStart=/bin/app ${PLANT}`,
        dropins: [{ name: '10-env.conf', contents: `Environment=A=${PLANT}` }],
      },
    ],
  },
  kernelArguments: { shouldExist: [`rd.luks.key=${PLANT}`, 'quiet'] },
};

const machineConfig = (config: unknown) => ({
  kind: 'MachineConfig',
  metadata: { name: '50-app', annotations: {} },
  spec: { config, kernelArguments: [`console=${PLANT}`, 'nosmt'], osImageURL: 'reg.io/os:1' },
});

it.each([
  ['an object', IGNITION],
  ['a text', JSON.stringify(IGNITION)],
  ['gzip in base 64', gzipSync(JSON.stringify(IGNITION)).toString('base64')],
])('of a MachineConfig, as %s, names and sizes stay and contents go', (_what, config) => {
  const shown = redacted(machineConfig(config));

  expect(JSON.stringify(shown)).not.toContain(PLANT);
  expect(shown).toMatchObject({
    metadata: { name: '50-app' },
    spec: {
      osImageURL: 'reg.io/os:1',
      kernelArguments: [expect.stringMatching(/^console=\(redacted: 7 characters, /), 'nosmt'],
      config: {
        passwd: { users: [{ name: 'core' }] },
        storage: {
          files: [
            {
              path: '/etc/registry.conf',
              mode: 384,
              contents: {
                source: expect.stringMatching(
                  /^\(redacted: 7 bytes, fingerprint [0-9a-f]{8}\)$/,
                ) as unknown,
                verification: { hash: 'sha512-abc' },
              },
            },
          ],
          luks: [{ name: 'data', device: '/dev/sdb' }],
        },
        systemd: {
          units: [{ name: 'app.service', enabled: true, dropins: [{ name: '10-env.conf' }] }],
        },
        kernelArguments: { shouldExist: [expect.stringMatching(/^rd\.luks\.key=/), 'quiet'] },
      },
    },
  });
});

it('equal contents have equal fingerprints, other contents others', () => {
  const fileOf = (contents: string) =>
    JSON.stringify(
      redacted(
        machineConfig({
          ignition: { version: '3.5.0' },
          storage: { files: [{ path: '/a', contents: { source: contents } }] },
        }),
      ),
    );

  expect(fileOf('data:,one')).toBe(fileOf(encodeDataUrl('one')));
  expect(fileOf('data:,one')).not.toBe(fileOf('data:,two'));
});

it('a config that cannot be read goes as a whole', () => {
  const shown = redacted(machineConfig(`not base64 ${PLANT}`));

  expect(JSON.stringify(shown)).not.toContain(PLANT);
  expect(shown).toMatchObject({
    spec: { config: expect.stringContaining('neither JSON nor') as unknown },
  });
});

it.each<[string, unknown, unknown]>([
  [
    'data of a Secret',
    { kind: 'Secret', data: { a: PLANT } },
    { kind: 'Secret', data: { a: '(redacted: 7 characters)' } },
  ],
  [
    'a ConfigMap',
    { kind: 'ConfigMap', data: { 'tls.key': PLANT } },
    { kind: 'ConfigMap', data: { 'tls.key': '(redacted: 7 characters)' } },
  ],
  [
    'what kubectl applied last',
    { annotations: { 'kubectl.kubernetes.io/last-applied-configuration': PLANT } },
    {
      annotations: {
        'kubectl.kubernetes.io/last-applied-configuration': '(redacted: 7 characters)',
      },
    },
  ],
  [
    'variables of others',
    {
      env: [
        { name: 'GREETING', value: PLANT },
        { name: 'SLIPWAY_LOG_LEVEL', value: 'info' },
      ],
    },
    {
      env: [
        { name: 'GREETING', value: '(redacted: 7 characters)' },
        { name: 'SLIPWAY_LOG_LEVEL', value: 'info' },
      ],
    },
  ],
  [
    'a secret among the settings',
    { env: [{ name: 'TEMPORAL_API_KEY', value: PLANT }] },
    { env: [{ name: 'TEMPORAL_API_KEY', value: '(redacted: 7 characters)' }] },
  ],
  [
    'where a variable comes from stays',
    { env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'db', key: 'pw' } } }] },
    { env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'db', key: 'pw' } } }] },
  ],
  [
    'the value after a flag',
    { args: ['serve', '--temporal-api-key', PLANT, '--node', 'w1'] },
    { args: ['serve', '--temporal-api-key', '(redacted: 7 characters)', '--node', 'w1'] },
  ],
  [
    'headers',
    {
      headers: [
        { name: 'Authorization', value: PLANT },
        { name: 'Accept', value: 'x' },
      ],
    },
    {
      headers: [
        { name: 'Authorization', value: '(redacted: 7 characters)' },
        { name: 'Accept', value: 'x' },
      ],
    },
  ],
  [
    'what a secret field holds',
    { credentials: { user: PLANT, list: [PLANT, 12] } },
    {
      credentials: {
        user: '(redacted: 7 characters)',
        list: ['(redacted: 7 characters)', '(redacted)'],
      },
    },
  ],
  [
    'JSON within a text',
    { note: JSON.stringify({ password: PLANT, node: 'w1' }) },
    { note: '{"password":"(redacted: 7 characters)","node":"w1"}' },
  ],
  ['a text', { message: `failed: password=${PLANT}` }, { message: 'failed: password=(redacted)' }],
  ['who wrote which field', { managedFields: [{}], name: 'a' }, { name: 'a' }],
  [
    'volumes stay',
    { volumes: [{ name: 'tls', secret: { secretName: 'slipway-server-tls' } }] },
    { volumes: [{ name: 'tls', secret: { secretName: 'slipway-server-tls' } }] },
  ],
])('%s', (_what, value, expected) => {
  expect(redacted(value)).toEqual(expected);
});

it('keeps nothing that a field of a secret name holds, however deep', () => {
  const secret = fc.stringMatching(/^[A-Z]{12}$/);
  fc.assert(
    fc.property(
      secret,
      fc.jsonValue(),
      fc.constantFrom('password', 'token', 'privateKey'),
      (plant, other, name) => {
        const value = { other, deep: [{ [name]: { any: [plant, { more: plant }] } }] };
        expect(JSON.stringify(redacted(value))).not.toContain(plant);
      },
    ),
  );
});

it('keeps no text of an Ignition config, whatever field it is in', () => {
  const plant = 'PLANTEDSECRET';
  const field = fc.stringMatching(/^x[a-z]{1,8}$/);
  fc.assert(
    fc.property(field, field, (one, two) => {
      const config = { ignition: { version: '3.9.0' }, [one]: [{ [two]: plant }, plant] };
      expect(JSON.stringify(redacted({ payload: config }))).not.toContain(plant);
    }),
  );
});
