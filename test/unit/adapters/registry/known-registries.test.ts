import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { basicFor } from '../../../../adapters/registry/credentials';
import { isInsecure } from '../../../../adapters/registry/insecure';
import { authoritiesFor, type Environment } from '../../../../adapters/registry/places';

let home: string;
let env: Environment;

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'slipway-home-'));
  env = { HOME: home, XDG_RUNTIME_DIR: join(home, 'run') };
});

afterEach(async () => {
  await rm(home, { recursive: true });
});

async function put(path: string, content: string | object): Promise<string> {
  const file = join(home, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content));
  return file;
}

const basic = (text: string): string => Buffer.from(text).toString('base64');
const auths = (entries: Readonly<Record<string, string>>): object => ({
  auths: Object.fromEntries(
    Object.entries(entries).map(([name, text]) => [name, { auth: basic(text) }]),
  ),
});

describe('credentials', () => {
  it('are looked for where podman and docker keep them, in this order', async () => {
    const files = [
      'run/containers/auth.json',
      '.config/containers/auth.json',
      '.docker/config.json',
    ];
    for (const file of [...files].reverse()) {
      await put(file, auths({ 'quay.io': `of ${file}` }));
      expect(await basicFor('quay.io/okd/os', env)).toBe(basic(`of ${file}`));
    }
    const named = await put('named.json', auths({ 'quay.io': 'of the named one' }));
    const only = { ...env, REGISTRY_AUTH_FILE: named };
    expect(await basicFor('quay.io/okd/os', only)).toBe(basic('of the named one'));
    expect(await basicFor('ghcr.io/okd/os', only)).toBeUndefined();
    const lost = { ...env, REGISTRY_AUTH_FILE: join(home, 'lost.json') };
    await expect(basicFor('quay.io/okd/os', lost)).rejects.toThrow('lost.json');
  });

  it('of the longest name that covers the repository win', async () => {
    const entries = { 'quay.io': 'host', 'quay.io/okd': 'group', 'quay.io/okd/os-two': 'other' };
    await put('run/containers/auth.json', auths(entries));
    const of = (name: string) => basicFor(name, env);
    expect(await of('quay.io/okd/os')).toBe(basic('group'));
    expect(await of('quay.io/okd/os-two')).toBe(basic('other'));
    expect(await of('quay.io/okd-two/os')).toBe(basic('host'));
    expect(await of('quay.io.example.com/okd/os')).toBeUndefined();
  });

  it('may be a name and a password, or belong to the old address of Docker', async () => {
    const one = { username: 'me', password: 'secret' };
    await put('.docker/config.json', {
      auths: { 'quay.io': one, 'https://index.docker.io/v1/': { auth: basic('docker') } },
    });
    expect(await basicFor('quay.io/a', env)).toBe(basic('me:secret'));
    expect(await basicFor('docker.io/library/a', env)).toBe(basic('docker'));
  });

  it('are none where there is no file, or an entry has none', async () => {
    expect(await basicFor('quay.io/a', env)).toBeUndefined();
    await put('.docker/config.json', { auths: { 'quay.io': {} }, credsStore: 'desktop' });
    expect(await basicFor('quay.io/a', env)).toBeUndefined();
  });

  it.each(['{"auths": secret', '[]', '{"auths": "secret"}'])(
    'in a file with %s are refused without quoting it',
    async (text) => {
      const file = await put('.docker/config.json', text);
      await expect(basicFor('quay.io/a', env)).rejects.toThrow(
        `${file} is not a file of registry credentials; log in again`,
      );
      await expect(basicFor('quay.io/a', env)).rejects.not.toThrow('secret');
    },
  );
});

describe('insecure registries', () => {
  const conf = (prefix: string, insecure: boolean): string =>
    `[[registry]]\nprefix = "${prefix}"\nlocation = "${prefix}"\ninsecure = ${insecure}\n`;

  it('are those of registries.conf and its drop-ins, by the longest prefix', async () => {
    await put('.config/containers/registries.conf', conf('lab.example.com', true));
    await put(
      '.config/containers/registries.conf.d/50.conf',
      conf('lab.example.com/safe', false) + conf('10.0.0.1:5000', true),
    );
    const names = [
      'lab.example.com/os',
      'lab.example.com/safe/os',
      '10.0.0.1:5000/os',
      'quay.io/os',
    ];
    const found = await Promise.all(names.map((name) => isInsecure(name, env)));
    expect(found).toEqual([true, false, true, false]);
  });

  it('are those of the named file alone', async () => {
    await put('.config/containers/registries.conf', conf('lab.example.com', true));
    const named = await put('named.conf', conf('10.0.0.1:5000', true));
    const only = { ...env, CONTAINERS_REGISTRIES_CONF: named };
    expect(await isInsecure('lab.example.com/os', only)).toBe(false);
    expect(await isInsecure('10.0.0.1:5000/os', only)).toBe(true);
  });

  it('cannot be read from a file that is not TOML, and the error names the file', async () => {
    const file = await put('.config/containers/registries.conf', '[[registry]\n');
    await expect(isInsecure('quay.io/os', env)).rejects.toThrow(`${file}: `);
  });
});

it('knows the authorities of a registry by its host and port', async () => {
  await put('.config/containers/certs.d/lab.example.com:5000/ca.crt', 'PEM');
  await put('.config/containers/certs.d/lab.example.com:5000/client.key', 'KEY');
  expect(await authoritiesFor('lab.example.com:5000', env)).toEqual(['PEM']);
  expect(await authoritiesFor('lab.example.com', env)).toEqual([]);
});
