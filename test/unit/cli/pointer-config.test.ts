import { createHash, randomBytes } from 'node:crypto';
import { fail } from '../../../core/errors';
import { decodeDataUrl } from '../../../core/encoding';
import { newJoinToken } from '../../../core/join';
import { printPointerConfig } from '../../../cli/commands/pointer-config';
import type { ReadText } from '../../../cli/commands/server-place';
import { EXIT } from '../../../cli/exit-codes';
import { newAuthority, type Credentials } from '../../../tools/cluster/certificates';
import { aContext, aRecord, type GivenCluster } from './join-context';

const sha256Hex = (text: string) => createHash('sha256').update(text).digest('hex');
const made = newJoinToken(randomBytes);
const record = aRecord({ id: made.id, hash: made.hash });
const URL = 'https://api-int.example.com:22623';

let authority: Credentials;
beforeAll(async () => {
  authority = await newAuthority('machine-config-server');
});

/** Files by name; `-` is standard input. */
function filesOf(files: Readonly<Record<string, string>>): ReadText {
  return async (path) => {
    const text = files[path];
    if (text === undefined) throw new Error('no such file');
    return text;
  };
}
const files = () =>
  filesOf({
    'ca.crt': authority.certificate,
    'both.pem': `${authority.key}\n${authority.certificate}`,
    'key.pem': authority.key,
    'broken.pem': '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n',
    '-': `${made.text}\n`,
    empty: '',
  });

const complete = { serverUrl: URL, caFile: 'ca.crt' };
const facts = () => ({ rootCa: authority.certificate, internalHost: 'api-int.example.com' });

/** A cluster whose clock is that of the certificates. */
function given(cluster: GivenCluster = {}) {
  const made = aContext(cluster);
  return { ...made, context: { ...made.context, now: Date.now } };
}

interface PointerShape {
  readonly ignition: {
    readonly version: string;
    readonly config: {
      readonly merge: readonly {
        readonly source: string;
        readonly httpHeaders?: readonly { readonly name: string; readonly value: string }[];
      }[];
    };
    readonly security: {
      readonly tls: { readonly certificateAuthorities: readonly { readonly source: string }[] };
    };
  };
}
const read = (text: string) => (JSON.parse(text) as PointerShape).ignition;

describe('slipway pointer-config', () => {
  it('prints a config with the address, the header and the authority, and nothing else', async () => {
    const { context, out, err, asked } = given();

    const code = await printPointerConfig(
      context,
      'worker',
      { ...complete, tokenFile: '-' },
      files(),
    );

    expect(code).toBe(EXIT.OK);
    const authorities = read(out()).security.tls.certificateAuthorities;
    const decoded = decodeDataUrl(authorities[0]?.source ?? '');
    expect('bytes' in decoded && Buffer.from(decoded.bytes).toString().trim()).toBe(
      authority.certificate.trim(),
    );
    expect(JSON.parse(out())).toEqual({
      ignition: {
        version: '3.1.0',
        config: {
          merge: [
            {
              source: `${URL}/config/worker`,
              httpHeaders: [{ name: 'Authorization', value: `Bearer ${made.text}` }],
            },
          ],
        },
        security: { tls: { certificateAuthorities: [{ source: authorities[0]?.source }] } },
      },
    });
    expect(err()).toBe('');
    expect(asked).toEqual([]);
  });

  it('prefers the authorities that Slipway publishes to those of the ControllerConfig', async () => {
    const serverCa = (await newAuthority('slipway-server-ca')).certificate;
    const { context, out } = given({ facts: { ...facts(), serverCa } });

    await printPointerConfig(context, 'worker', {}, files());

    const [first] = read(out()).security.tls.certificateAuthorities;
    const decoded = decodeDataUrl(first?.source ?? '');
    expect('bytes' in decoded && Buffer.from(decoded.bytes).toString()).toBe(serverCa);
  });

  it('takes address and authority from the ControllerConfig, and makes a token', async () => {
    const { context, out, err, tokens } = given({ facts: facts() });

    await printPointerConfig(context, 'worker', { ttl: 600 }, files());

    const [merge] = read(out()).config.merge;
    const token = merge?.httpHeaders?.[0]?.value.replace('Bearer ', '') ?? '';
    expect(merge?.source).toBe(`${URL}/config/worker`);
    expect(tokens).toEqual([
      expect.objectContaining({ pool: 'worker', hash: sha256Hex(token.split('.')[2] ?? '') }),
    ]);
    expect(err()).toContain('lets machines into pool worker until ');
    expect(err()).not.toContain(token);
  });

  it('leaves the token out for a server in mode open', async () => {
    const { context, out, tokens } = given({ facts: facts() });

    await printPointerConfig(context, 'worker', { open: true }, files());

    expect(read(out()).config.merge).toEqual([{ source: `${URL}/config/worker` }]);
    expect(tokens).toEqual([]);
  });

  it('keeps a path in front, for a server behind a proxy', async () => {
    const { context, out } = given();
    const serverUrl = 'https://boot.example.com/slipway/';

    await printPointerConfig(
      context,
      'worker',
      { ...complete, serverUrl, token: made.text },
      files(),
    );

    expect(read(out()).config.merge[0]?.source).toBe(
      'https://boot.example.com/slipway/config/worker',
    );
  });

  it('leaves out the key that lies beside the certificate', async () => {
    const { context, out } = given();

    await printPointerConfig(
      context,
      'worker',
      { ...complete, caFile: 'both.pem', token: made.text },
      files(),
    );

    const source = read(out()).security.tls.certificateAuthorities[0]?.source ?? '';
    const decoded = decodeDataUrl(source);
    const pem = 'bytes' in decoded ? Buffer.from(decoded.bytes).toString() : '';
    expect(pem).toContain('BEGIN CERTIFICATE');
    expect(pem).not.toContain('PRIVATE');
  });

  it.each([
    ['--server-url: expected https://', { serverUrl: 'http://a:22623' }],
    ['--server-url: expected https://', { serverUrl: 'a:22623' }],
    ['--server-url: expected https://', { serverUrl: 'https://u:p@a:22623' }],
    ['--server-url: expected https://', { serverUrl: 'https://a:22623/?role=worker' }],
    ['--ca-file nowhere: no such file', { caFile: 'nowhere' }],
    ['--ca-file empty: there is no PEM certificate', { caFile: 'empty' }],
    ['--ca-file key.pem: there is no PEM certificate', { caFile: 'key.pem' }],
    ['--ca-file broken.pem: a certificate cannot be read', { caFile: 'broken.pem' }],
    ['--token-file nowhere: no such file', { tokenFile: 'nowhere' }],
    ['--token-file empty: this is no join token', { tokenFile: 'empty' }],
    ['--token: this is no join token', { token: `${made.text}x` }],
    ['the ControllerConfig does not say where', { serverUrl: undefined }],
    ['nor spec.rootCAData of the ControllerConfig', { caFile: undefined }],
  ])('says %s', async (message, change) => {
    const { context, tokens, out } = given();
    const options = Object.fromEntries(
      Object.entries({ ...complete, ...change }).filter(([, value]) => value !== undefined),
    );

    const printing = printPointerConfig(context, 'worker', options, files());

    await expect(printing).rejects.toMatchObject({
      exitCode: EXIT.USAGE,
      message: expect.stringContaining(message) as string,
    });
    await expect(printing).rejects.toMatchObject({
      message: expect.not.stringContaining(made.text) as string,
    });
    expect(out()).toBe('');
    expect(tokens).toEqual([]);
  });

  it('refuses an authority that has expired', async () => {
    const { context } = given();
    const later = { ...context, now: () => Date.parse('2200-01-01T00:00:00Z') };

    await expect(
      printPointerConfig(later, 'worker', { ...complete, token: made.text }, files()),
    ).rejects.toMatchObject({ message: expect.stringContaining('expired at ') as string });
  });

  it('refuses what no pool can be called, also when no cluster is asked', async () => {
    const { context, out } = given();

    await expect(
      printPointerConfig(context, '../x', { ...complete, token: made.text }, files()),
    ).rejects.toMatchObject({
      exitCode: EXIT.USAGE,
      message: expect.stringContaining('"../x" is not the name of a pool') as string,
    });
    expect(out()).toBe('');
  });

  it('names the pools that there are when this one is not', async () => {
    const { context } = given({ facts: facts() });

    await expect(printPointerConfig(context, 'wroker', {}, files())).rejects.toMatchObject({
      exitCode: EXIT.NOT_FOUND,
      message: 'pool wroker not found; there are: master, worker',
    });
  });

  it.each([
    ['is not one of this cluster, or was revoked', undefined],
    ['expired at 2001-01-01T00:00:00Z', { ...record, expiresAt: '2001-01-01T00:00:00Z' }],
    ['is for pool master', { ...record, pool: 'master' }],
    ['has another secret', { ...record, hash: 'e'.repeat(64) }],
    ['is unusable: x', { id: made.id, problem: 'x' }],
  ])('finds out that a given token %s', async (message, stored) => {
    const { context } = given({ facts: facts(), tokens: stored === undefined ? [] : [stored] });

    const printing = printPointerConfig(context, 'worker', { token: made.text }, files());

    await expect(printing).rejects.toMatchObject({
      exitCode: EXIT.FAILED,
      message: `join token ${made.id} ${message}`,
    });
  });

  it('accepts a given token that is right', async () => {
    const { context, out } = given({ facts: facts(), tokens: [record] });

    await printPointerConfig(context, 'worker', { token: made.text }, files());

    expect(out()).toContain(made.text);
  });

  it('fails without a word of the token when the API server is away', async () => {
    const { context, out } = given();
    const away = {
      ...context,
      cluster: () => Promise.reject(fail('ApiUnavailable', 'list pools: connection refused')),
    };

    await expect(
      printPointerConfig(away, 'worker', { token: made.text }, files()),
    ).rejects.toMatchObject({ message: 'list pools: connection refused' });
    expect(out()).toBe('');
  });
});
