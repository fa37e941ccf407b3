import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type Issued,
  issueServing,
  linkAuthority,
  makeAuthority,
} from '../../../../adapters/certificates/issue';
import { askEndpoint } from '../../../../adapters/host/endpoint-request';
import { learnAuthorities, learnedAuthorityFile } from '../../../../adapters/host/server-authority';

const nowMs = Date.now();
let directory = '';
let first: Issued;
let second: Issued;
let server: Server;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'slipway-authority-'));
  [first, second] = [await makeAuthority(nowMs), await makeAuthority(nowMs)];
  server = createServer((_request, response) => void response.end());
  await once(server.listen(0, '127.0.0.1'), 'listening');
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
  rmSync(directory, { recursive: true, force: true });
});

async function serve(authority: Issued, links = ''): Promise<void> {
  const { certificate, key } = await issueServing(authority, { names: ['127.0.0.1'], nowMs });
  server.setSecureContext({ cert: `${certificate}${links}`, key });
}

/** A machine that was set up with the first authority. */
function machine() {
  const file = (name: string) => join(directory, name);
  const { certificate, key } = first;
  if (!existsSync(file('ca.crt'))) {
    // Its own certificate does not matter here.
    for (const [name, text] of [
      ['ca.crt', certificate],
      ['tls.crt', certificate],
      ['tls.key', key],
    ] as const) {
      writeFileSync(file(name), text);
    }
  }
  const { port } = server.address() as AddressInfo;
  return {
    url: `https://127.0.0.1:${port}`,
    authorityFile: file('ca.crt'),
    certificateFile: file('tls.crt'),
    keyFile: file('tls.key'),
    learnedAuthorityFile: learnedAuthorityFile(directory),
  };
}

const reaches = () =>
  askEndpoint('/', machine()).then(
    ({ status }) => status === 200,
    () => false,
  );
const bundle = () => `${second.certificate}${first.certificate}`;

it('a machine that learned the new authority trusts the server without the old one', async () => {
  await serve(second, await linkAuthority(first, second, nowMs));

  expect(await learnAuthorities(bundle(), machine())).toBe(true);
  expect(await learnAuthorities(bundle(), machine())).toBe(false);

  await serve(second);
  expect(await reaches()).toBe(true);
});

it('a machine that knows all of the bundle writes nothing', async () => {
  await serve(first);

  expect(await learnAuthorities(first.certificate, machine())).toBe(false);
  expect(existsSync(machine().learnedAuthorityFile)).toBe(false);
});

it('an authority that ended leaves', async () => {
  await serve(second, await linkAuthority(first, second, nowMs));
  await learnAuthorities(bundle(), machine());

  expect(await learnAuthorities(second.certificate, machine())).toBe(true);

  const { learnedAuthorityFile: file } = machine();
  expect(readFileSync(file, 'utf8')).not.toContain(first.certificate);
});

it('what does not lead to the server is not kept', async () => {
  await serve(first);
  const { learnedAuthorityFile: file } = machine();

  await expect(learnAuthorities(second.certificate, machine())).rejects.toThrow(
    'the server cannot be recognised by what it told',
  );
  await expect(learnAuthorities('nothing', machine())).rejects.toThrow('no certificate');
  const broken = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----';
  await expect(learnAuthorities(broken, machine())).rejects.toThrow('cannot be read');
  expect(existsSync(file)).toBe(false);
});

it('a file that a person has changed since counts alone', async () => {
  await serve(second, await linkAuthority(first, second, nowMs));
  await learnAuthorities(bundle(), machine());
  await serve(second);
  expect(await reaches()).toBe(true);

  const third = await makeAuthority(nowMs);
  writeFileSync(machine().authorityFile, third.certificate);

  expect(await reaches()).toBe(false);
  await serve(third);
  expect(await reaches()).toBe(true);
});

it.each([
  ['broken certificates', (text: string) => text.replace(/^MI/gm, 'AA')],
  ['half of a certificate', (text: string) => text.slice(0, text.indexOf('-----END') - 9)],
  ['no certificate', (text: string) => text.slice(0, text.indexOf('-----BEGIN'))],
])(
  'a file of what was learned with %s does no harm, and is written again',
  async (_what, damage) => {
    await serve(second, await linkAuthority(first, second, nowMs));
    await learnAuthorities(bundle(), machine());
    const { learnedAuthorityFile: file } = machine();
    writeFileSync(file, damage(readFileSync(file, 'utf8')));

    expect(await reaches()).toBe(true);
    expect(await learnAuthorities(bundle(), machine())).toBe(true);

    await serve(second);
    expect(await reaches()).toBe(true);
  },
);
