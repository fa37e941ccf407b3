import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { findEndpoint } from '../../../../adapters/kube/credentials';

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'slipway-kubeconfig-'));
});

afterEach(() => {
  rmSync(directory, { recursive: true });
});

function written(content: object | string): string {
  const file = join(directory, 'config');
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  return file;
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');

const kubeconfig = (user: object, cluster: object = {}) => ({
  'current-context': 'main',
  contexts: [
    { name: 'main', context: { cluster: 'c', user: 'u' } },
    { name: 'other', context: { cluster: 'c', user: 'nobody' } },
  ],
  clusters: [{ name: 'c', cluster: { server: 'https://k:6443', ...cluster } }],
  users: [{ name: 'u', user }],
});

it('reads certificates from the file itself', async () => {
  const file = written(
    kubeconfig(
      { 'client-certificate-data': base64('CERT'), 'client-key-data': base64('KEY') },
      { 'certificate-authority-data': base64('CA') },
    ),
  );

  const endpoint = await findEndpoint({ kubeconfig: file });

  expect(endpoint.server).toBe('https://k:6443');
  expect(await endpoint.read()).toEqual({
    tls: { ca: 'CA', cert: 'CERT', key: 'KEY' },
    headers: {},
  });
});

it('reads certificates and tokens from files beside it, each time anew', async () => {
  writeFileSync(join(directory, 'ca.crt'), 'CA');
  writeFileSync(join(directory, 'token'), 'first\n');
  const file = written(kubeconfig({ tokenFile: 'token' }, { 'certificate-authority': 'ca.crt' }));
  const endpoint = await findEndpoint({ kubeconfig: file });
  expect((await endpoint.read()).headers).toEqual({ authorization: 'Bearer first' });

  writeFileSync(join(directory, 'token'), 'second\n');

  expect(await endpoint.read()).toEqual({
    tls: { ca: 'CA' },
    headers: { authorization: 'Bearer second' },
  });
});

it('takes the context that it is told to', async () => {
  const file = written(kubeconfig({ token: 't' }));

  const endpoint = await findEndpoint({ kubeconfig: file, context: 'other' });

  expect((await endpoint.read()).headers).toEqual({});
});

it.each([
  ['no YAML', '{', /kubeconfig .*config cannot be read/],
  ['no object', 'just text', /is not a kubeconfig/],
  ['no current context', { contexts: [] }, /has no current-context/],
  ['an unknown context', { 'current-context': 'x', contexts: [] }, /has no context x/],
  [
    'no cluster',
    { 'current-context': 'x', contexts: [{ name: 'x', context: { cluster: 'c' } }] },
    /no cluster for context x/,
  ],
  ['no server', kubeconfig({}, { server: '' }), /the cluster has no server/],
])('names the file and what is wrong with it: %s', async (_name, content, message) => {
  await expect(findEndpoint({ kubeconfig: written(content) })).rejects.toThrow(message);
});

it('names a file that does not exist', async () => {
  const file = join(directory, 'missing');

  await expect(findEndpoint({ kubeconfig: file })).rejects.toThrow(file);
});

describe('a list of kubeconfigs', () => {
  function writtenAs(name: string, content: object): string {
    mkdirSync(join(directory, name));
    const file = join(directory, name, 'config');
    writeFileSync(file, JSON.stringify(content));
    return file;
  }

  const listed = (...files: readonly string[]) => ({ kubeconfig: files.join(delimiter) });

  const named = (kind: string, name: string, content: object) => ({
    [`${kind}s`]: [{ name, [kind]: content }],
  });

  it('is merged as kubectl does it: what the first file says counts', async () => {
    const first = writtenAs('first', named('cluster', 'c', { server: 'https://first' }));
    const second = writtenAs('second', kubeconfig({ token: 'second' }));
    const third = writtenAs('third', {
      ...kubeconfig({ token: 'third' }),
      'current-context': 'elsewhere',
    });

    const empty = join(directory, 'empty');
    writeFileSync(empty, '');
    const missing = join(directory, 'missing');

    const endpoint = await findEndpoint(listed(empty, first, missing, second, third));

    expect(endpoint.server).toBe('https://first');
    expect((await endpoint.read()).headers).toEqual({ authorization: 'Bearer second' });
  });

  it('finds the files that an entry names beside the kubeconfig of the entry', async () => {
    const first = writtenAs('first', {
      'current-context': 'main',
      ...named('context', 'main', { cluster: 'c', user: 'u' }),
      ...named('cluster', 'c', { server: 'https://k', 'certificate-authority': 'ca.crt' }),
    });
    const second = writtenAs('second', named('user', 'u', { tokenFile: 'token' }));
    writeFileSync(join(directory, 'first', 'ca.crt'), 'CA');
    writeFileSync(join(directory, 'second', 'token'), 'T');

    const endpoint = await findEndpoint(listed(first, second));

    expect(await endpoint.read()).toEqual({
      tls: { ca: 'CA' },
      headers: { authorization: 'Bearer T' },
    });
  });

  it('names all the files when none of them exists', async () => {
    const [a, b] = [join(directory, 'a'), join(directory, 'b')];

    await expect(findEndpoint(listed(a, b))).rejects.toThrow(
      `kubeconfig ${a}${delimiter}${b} cannot be read: none of these files exists`,
    );
  });

  it('leaves a single file alone whose name has the separator in it', async () => {
    const file = writtenAs(`odd${delimiter}name`, kubeconfig({ token: 't' }));

    expect((await findEndpoint({ kubeconfig: file })).server).toBe('https://k:6443');
  });
});
