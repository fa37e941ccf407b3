import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { followFacts, type FactFiles } from '../../../../server/ignition/facts';

let directory: string;
const stopping = new AbortController();

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'slipway-facts-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));
afterAll(() => stopping.abort());

function write(name: string, text: string): string {
  const file = join(directory, name);
  writeFileSync(file, text);
  return file;
}

const quiet = { info: () => undefined, warn: () => undefined };

function follow(files: Partial<FactFiles>, changed?: () => void) {
  return followFacts(
    { registryAuthority: [], ...files },
    { signal: stopping.signal, log: quiet, ...(changed === undefined ? {} : { changed }) },
  );
}

describe('what files add to first configs', () => {
  it('is nothing when none is set', async () => {
    expect((await follow({}))()).toEqual({});
  });

  it('is a kubeconfig as it stands, and authorities of registries', async () => {
    const bootstrapKubeconfig = write('kubeconfig', 'k');
    const authority = write('ca.pem', 'pem');

    const facts = await follow({
      bootstrapKubeconfig,
      registryAuthority: [`registry.example.com:5000=${authority}`],
    });

    expect(facts()).toEqual({
      kubeconfig: 'k',
      registryAuthorities: { 'registry.example.com:5000': 'pem' },
    });
  });

  it('is a kubeconfig of a token, and of the bundle before the authority beside it', async () => {
    write('token', 't');
    write('ca.crt', 'old');
    const files = { bootstrapTokenDirectory: directory, apiServerUrl: 'https://api:6443' };
    const authority = async () => {
      const { kubeconfig = '' } = (await follow(files))();
      const { clusters } = parse(kubeconfig) as {
        clusters: { cluster: Record<string, string> }[];
      };
      return Buffer.from(
        clusters[0]?.cluster['certificate-authority-data'] ?? '',
        'base64',
      ).toString();
    };

    expect(await authority()).toBe('old');
    write('ca-bundle.crt', 'new');
    expect(await authority()).toBe('new');
  });

  it('is a kubeconfig with a token that can be sent, also when its file ends with a line', async () => {
    write('token', 'very-secret\n');
    write('ca.crt', 'ca');

    const facts = await follow({
      bootstrapTokenDirectory: directory,
      apiServerUrl: 'https://api:6443',
    });

    const { users } = parse(facts().kubeconfig ?? '') as { users: { user: object }[] };
    expect(users[0]?.user).toEqual({ token: 'very-secret' });
  });

  it('changes with the files', async () => {
    mkdirSync(join(directory, 'sub'));
    const bootstrapKubeconfig = write('sub/kubeconfig', 'old');
    let told = (): void => undefined;
    const changed = new Promise<void>((resolve) => {
      told = resolve;
    });
    const facts = await follow({ bootstrapKubeconfig }, () => told());

    write('sub/kubeconfig', 'new');
    await changed;

    expect(facts()).toEqual({ kubeconfig: 'new' });
  });

  it.each([
    ['a file that is not there', { bootstrapKubeconfig: '/nowhere' }, /\/nowhere/],
    ['a token without an address', { bootstrapTokenDirectory: '/x' }, /go together/],
    ['an address without a token', { apiServerUrl: 'https://x' }, /go together/],
    ['no file', { registryAuthority: ['registry.example.com='] }, /is not host\[:port\]=file/],
    ['no registry', { registryAuthority: ['../x=/y'] }, /is not host\[:port\]=file/],
  ])('keeps the server from starting with %s', async (_what, files, message) => {
    await expect(follow(files)).rejects.toThrow(message);
  });
});
