import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SecureContextOptions } from 'node:tls';
import { followTls, readTls } from '../../../server/tls';
import { newAuthority, type Credentials } from '../../../tools/cluster/certificates';

let root: string;
let abort: AbortController;
let first: Credentials;
let second: Credentials;

beforeAll(async () => {
  [first, second] = await Promise.all([newAuthority('first'), newAuthority('second')]);
});

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'slipway-tls-'));
  abort = new AbortController();
});

afterEach(() => {
  abort.abort();
  rmSync(root, { recursive: true });
});

function files() {
  return { certificateFile: join(root, 'tls.crt'), keyFile: join(root, 'tls.key') };
}

function write({ certificate, key }: Credentials): void {
  writeFileSync(files().certificateFile, certificate);
  writeFileSync(files().keyFile, key);
}

/** Events of the TLS files and their log lines; each resolves the waits for it. */
function follow(tls: Awaited<ReturnType<typeof readTls>>) {
  const given: string[] = [];
  let heard: (message: string) => void = () => undefined;
  const said = new Promise<string>((resolve) => (heard = resolve));
  followTls(
    {
      setSecureContext: ({ cert }: SecureContextOptions) => {
        if (Buffer.isBuffer(cert)) given.push(cert.toString());
      },
    },
    files(),
    {
      tls,
      signal: abort.signal,
      log: { info: (_, text) => heard(text), warn: (_, text) => heard(text) },
    },
  );
  return { given, said };
}

it.each(['certificateFile', 'keyFile', 'clientAuthorityFile'] as const)(
  'a file that is not there is a setting that cannot be used: %s',
  async (setting) => {
    write(first);
    const missing = join(root, 'none');

    await expect(readTls({ ...files(), [setting]: missing })).rejects.toMatchObject({
      name: 'SettingsError',
      message: expect.stringMatching(`^${setting}: ${missing} cannot be read: ENOENT`) as string,
    });
  },
);

it('a certificate without its key is a setting that cannot be used', async () => {
  write({ ...first, key: second.key });

  await expect(readTls(files())).rejects.toMatchObject({
    name: 'SettingsError',
    message: expect.stringMatching(/^certificate .*tls.crt with key .*tls.key: /) as string,
  });
});

describe('a client authority', () => {
  const authority = () => join(root, 'ca.crt');
  const read = () => readTls({ ...files(), clientAuthorityFile: authority() });
  const der = (): Buffer =>
    Buffer.from(first.certificate.replace(/-----[A-Z ]+-----|\s/g, ''), 'base64');
  const cut = (): string => first.certificate + second.certificate.slice(0, -100);

  it.each([
    ['is empty', () => '', 'there is no certificate in'],
    ['is a key', () => first.key, 'there is no certificate in'],
    ['is DER', der, 'there is no certificate in'],
    ['is cut off', cut, 'certificate 2 of 2 in'],
  ])('that %s is a setting that cannot be used', async (_what, contents, said) => {
    write(first);
    writeFileSync(authority(), contents());

    await expect(read()).rejects.toMatchObject({
      name: 'SettingsError',
      message: expect.stringMatching(`^clientAuthorityFile: ${said} ${authority()}`) as string,
    });
  });

  it('may be several, with text between them', async () => {
    write(first);
    const bundle = `# the first\n${first.certificate}# the second\n${second.certificate}`;
    writeFileSync(authority(), bundle);

    expect((await read()).ca.toString()).toBe(bundle);
  });
});

it('gives the server what was renewed between its start and the watch', async () => {
  write(first);
  const tls = await readTls(files());
  write(second);

  const { given, said } = follow(tls);

  expect(await said).toBe('certificate reloaded');
  expect(given).toEqual([second.certificate]);
});

it('keeps what the server has when key and certificate do not belong together', async () => {
  write(first);
  const tls = await readTls(files());
  writeFileSync(files().keyFile, second.key);

  const { given, said } = follow(tls);

  expect(await said).toBe('certificate not reloaded');
  expect(given).toEqual([]);
});
