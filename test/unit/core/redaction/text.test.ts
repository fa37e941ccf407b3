import * as fc from 'fast-check';
import { redactText } from '../../../../core/redaction';

const BASE64 = 'MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj';
const PEM = `-----BEGIN RSA PRIVATE KEY-----\n${BASE64}\n${BASE64}\n-----END RSA PRIVATE KEY-----`;
const JWT = 'eyJhbGciOiJSUzI1NiIsImtpZCI6IjEifQ.eyJpc3MiOiJrdWJlcm5ldGVzIn0.c2lnbmF0dXJlLW9m';
const JOIN_SECRET = 'Zm9vYmFyYmF6cXV4MDEyMzQ1Njc4OWFiY2RlZmdoaWo';

it.each<[string, string, string]>([
  ['a private key', `key:\n${PEM}\nend`, 'key:\n(redacted: private key)\nend'],
  ['a key in JSON', JSON.stringify({ msg: PEM }), '{"msg":"(redacted: private key)"}'],
  [
    'a key without its end',
    `a\n-----BEGIN PRIVATE KEY-----\n${BASE64}\n`,
    'a\n(redacted: private key)\n',
  ],
  [
    'a key with log prefixes',
    PEM.split('\n')
      .map((line) => `host app[1]: ${line}`)
      .join('\n'),
    'host app[1]: (redacted: private key)',
  ],
  ['a bearer token', `Authorization: Bearer ${JWT}`, 'Authorization: (redacted)'],
  ['a bearer token alone', 'sent bearer abc123def', 'sent bearer (redacted)'],
  ['a JSON Web Token', `got ${JWT} from it`, 'got (redacted) from it'],
  [
    'a join token',
    `used slipway-join.0123456789.${JOIN_SECRET} twice`,
    'used slipway-join.0123456789.(redacted) twice',
  ],
  ['a bootstrap token', 'kubeadm join abcdef.0123456789abcdef', 'kubeadm join abcdef.(redacted)'],
  ['a password hash', 'core:$6$salt$Hq1.abc/DEF:19000', 'core:(redacted):19000'],
  ['a yescrypt hash', 'got $y$j9T$abc./$xyz012 there', 'got (redacted) there'],
  [
    'an SSH key',
    'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGZv ana@laptop',
    'ssh-ed25519 (redacted) ana@laptop',
  ],
  ['a data URL', 'source data:;base64,c2VjcmV0 is', 'source data:(redacted) is'],
  ['a data URL with a text', 'data:,hunter2%0A', 'data:(redacted)'],
  ['basic auth', 'GET https://ana:hunter2@reg.io/v2/', 'GET https://(redacted)@reg.io/v2/'],
  ['a password', 'password: correct horse battery', 'password: (redacted)'],
  ['a variable', 'DB_PASSWORD=hunter2 NODE=w1', 'DB_PASSWORD=(redacted) NODE=w1'],
  ['a field of JSON', '{"apiKey":"a\\"b","node":"w1"}', '{"apiKey":"(redacted)","node":"w1"}'],
  [
    'a field of JSON within JSON',
    '"{\\"token\\":\\"abc\\",\\"pool\\":\\"infra\\"}"',
    '"{\\"token\\":\\"(redacted)\\",\\"pool\\":\\"infra\\"}"',
  ],
  [
    'a flag',
    'run --temporal-api-key abc123 --node w1',
    'run --temporal-api-key (redacted) --node w1',
  ],
  ['a flag with =', 'run --token=abc123 w1', 'run --token=(redacted) w1'],
  ['a query', 'GET /x?access_token=abc&node=w1', 'GET /x?access_token=(redacted)&node=w1'],
  ['an unknown blob', `it said ${BASE64} here`, 'it said (redacted) here'],
  ['a GitHub token', 'ghp_0123456789abcdefABCD', '(redacted)'],
])('%s goes', (_what, text, expected) => {
  expect(redactText(text)).toBe(expected);
});

it.each([
  'rendered-worker-0123456789abcdef0123456789abcdef',
  'sha256:3b1f0d8d7a3e9a4c5d6e7f80912a3b4c5d6e7f80912a3b4c5d6e7f80912a3b4c',
  'registry.example/os@sha256:3b1f0d8d7a3e9a4c5d6e7f80912a3b4c5d6e7f80912a3b4c5d6e7f80912a3b4c',
  'run 019a2b3c-4d5e-7f80-9a1b-2c3d4e5f6071 of update-node/worker-1',
  'cannot write /etc/NetworkManager/system-connections/eth0.nmconnection: no space',
  '    at Worker.run (/opt/slipway/node_modules/@temporalio/worker/lib/worker.js:12:3)',
  '{"level":"info","time":"2026-01-02T03:04:05.678Z","node":"worker-1","msg":"drained"}',
  'read the token from --token-file /etc/slipway/token; secretName: slipway-server-tls',
  'pod shop/cart-7d9f8b6c5d-x2v4q evicted after 12 s',
])('stays: %s', (text) => {
  expect(redactText(text)).toBe(text);
});

/** Texts around a secret, which may break the rules that look for it. */
const around = fc.stringMatching(/^[a-z0-9 .,;:{}[\]"'\\/=\n-]{0,60}$/);

it('takes a key out of any text, and the second time changes nothing', () => {
  fc.assert(
    fc.property(around, around, (before, after) => {
      const once = redactText(`${before}\n${PEM}\n${after}`);
      expect(once).not.toContain(BASE64);
      expect(redactText(once)).toBe(once);
    }),
  );
});

const secret = fc.stringMatching(/^[A-Za-z0-9]{12,30}$/);
const name = fc.constantFrom('password', 'API_KEY', 'registry-token', 'clientSecret', 'psk');

it('takes a named value out of JSON, YAML, variables and flags', () => {
  fc.assert(
    fc.property(name, secret, around, (field, value, before) => {
      for (const text of [
        `${before}\n${JSON.stringify({ node: 'w1', [field]: value })}`,
        `${before}\n${JSON.stringify(JSON.stringify({ [field]: value }))}`,
        `${before}\n${field}: ${value}\n`,
        `${before}\nexport ${field}=${value}; true`,
        `${before}\nrun --${field} ${value}`,
        `${before}\nrun --${field}=${value}`,
      ]) {
        expect(redactText(text)).not.toContain(value);
      }
    }),
    // A name without a value, and the secret in the next line.
    { examples: [['password', 'aaaaAa000AAa', 'aa=']] },
  );
});
