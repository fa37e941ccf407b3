import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createBootstrapSource } from '../../../../server/ignition/bootstrap-source';
import { followBootstrapTokens } from '../../../../server/ignition/bootstrap-tokens';
import { prepareNow } from '../../../../server/ignition/prepare';

let directory: string;
let abort: AbortController;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'slipway-bootstrap-'));
  abort = new AbortController();
});
afterEach(() => {
  abort.abort();
  rmSync(directory, { recursive: true, force: true });
});

function write(path: string, text: string): void {
  const file = join(directory, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

const POOL = `metadata: {name: master}
spec: {}
status: {configuration: {name: rendered-master-1}}
`;
const CONFIG = `metadata: {name: rendered-master-1}
spec:
  config:
    ignition: {version: 3.5.0}
    storage: {files: [{path: /etc/a, contents: {source: 'data:,very-secret'}}]}
`;

function writeAll(): void {
  write('machine-pools/master.yaml', POOL);
  write('machine-configs/rendered-master-1.yaml', CONFIG);
}

const source = () => createBootstrapSource({ directory, facts: () => ({ kubeconfig: 'k' }) });

async function look(pool = 'master', from = source()) {
  const found = await from.look(pool);
  if ('served' in found) return found.served;
  const { status, reason, message } = found.missing;
  return `${status} ${reason}: ${message.replace(directory, '')}`;
}

describe('first configs of files', () => {
  it('are made from the pool, its config and the ControllerConfig', async () => {
    writeAll();
    write(
      'controller-config/machine-config-controller.yaml',
      'metadata: {name: machine-config-controller}\nspec: {cloudProviderCAData: QQ==}\n',
    );

    const served = await look();

    expect(served).toMatchObject({
      pool: 'master',
      name: 'rendered-master-1',
      facts: { kubeconfig: 'k', cloudAuthority: 'QQ==' },
    });
    if (typeof served === 'string') throw new Error(served);
    const prepared = prepareNow({ ...served, version: '3.5', maxBytes: 1e6 });
    expect(prepared.state === 'ready' && prepared.bytes.identity.toString()).toContain(
      'very-secret',
    );
  });

  it('are read as MCO and kubectl write and read such files, with nulls and octal modes', async () => {
    write(
      'machine-pools/master.yaml',
      `metadata: {creationTimestamp: null, name: master}
spec: {maxUnavailable: null, paused: no}
status:
  certExpirys: null
  conditions: null
  configuration: {name: rendered-master-1, source: null}
`,
    );
    write(
      'machine-configs/rendered-master-1.yaml',
      `metadata: {creationTimestamp: null, name: rendered-master-1, ownerReferences: null}
spec:
  fips: no
  kernelArguments: null
  osImageURL: null
  config:
    ignition: {version: 3.5.0}
    storage: {files: [{path: /etc/a, mode: 0600, overwrite: yes, contents: {source: 'data:,a'}}]}
`,
    );
    write(
      'controller-config/machine-config-controller.yaml',
      'metadata: {creationTimestamp: null, name: x}\nspec: {osImageURL: null, infra: null}\nstatus: null\n',
    );
    const served = await look();
    if (typeof served === 'string') throw new Error(served);

    const prepared = prepareNow({ ...served, version: '3.5', maxBytes: 1e6 });

    if (prepared.state !== 'ready') throw new Error(JSON.stringify(prepared));
    const { storage } = JSON.parse(prepared.bytes.identity.toString()) as {
      readonly storage: { readonly files: readonly object[] };
    };
    expect(storage.files[0]).toEqual({
      path: '/etc/a',
      mode: 0o600,
      overwrite: true,
      contents: { source: 'data:,a' },
    });
  });

  it('are others when a file changes', async () => {
    writeAll();
    const from = source();
    const before = await look('master', from);
    expect(await look('master', from)).toEqual(before);

    write('machine-configs/rendered-master-1.yaml', `${CONFIG}  kernelArguments: [quiet]\n`);

    const after = await look('master', from);
    expect(typeof after === 'object' && typeof before === 'object' && after.key).not.toBe(
      typeof before === 'object' && before.key,
    );
  });

  it.each([
    'machine-pools/master.yaml',
    'machine-configs/rendered-master-1.yaml',
    'controller-config/machine-config-controller.yaml',
  ])('are others when %s is written in place, with its size and time', async (path) => {
    writeAll();
    write('machine-configs/rendered-master-2.yaml', CONFIG);
    write(
      'controller-config/machine-config-controller.yaml',
      'metadata: {name: machine-config-controller}\nspec: {cloudProviderCAData: QQ==}\n',
    );
    const file = join(directory, path);
    const seen = () => statSync(file, { bigint: true });
    // Whole seconds, which can be restored exactly.
    utimesSync(file, 1_700_000_000, 1_700_000_000);
    const { ino, size, mtimeNs, ctimeNs } = seen();
    const from = source();
    const before = await look('master', from);

    const changed = readFileSync(file, 'utf8')
      .replace('name: rendered-master-1}}', 'name: rendered-master-2}}')
      .replace('very-secret', 'much-secret')
      .replace('QQ==', 'Qg==');
    const handle = openSync(file, 'r+');
    writeSync(handle, changed);
    closeSync(handle);
    // The clock of the file system may tick in milliseconds, and this loop is as fast.
    do utimesSync(file, 1_700_000_000, 1_700_000_000);
    while (seen().ctimeNs === ctimeNs);

    expect(seen()).toMatchObject({ ino, size, mtimeNs });
    const after = await look('master', from);
    if (typeof before === 'string' || typeof after === 'string') throw new Error('not served');
    expect(after.key).not.toBe(before.key);
    expect(after).toEqual(await look());
  });

  it.each(['worker', 'infra', '../../etc/passwd'])('are none of pool %s', async (pool) => {
    writeAll();
    write('machine-pools/worker.yaml', POOL);

    expect(await look(pool)).toBe(
      `500 unknown-pool: pool ${pool} is not served while a cluster is installed`,
    );
  });

  it('are missing with the file that is', async () => {
    expect(await look()).toBe('404 unknown-pool: there is no /machine-pools/master.yaml');
    expect(await look('arbiter')).toBe('404 unknown-pool: there is no /machine-pools/arbiter.yaml');

    write('machine-pools/master.yaml', POOL);
    expect(await look()).toBe(
      '404 no-rendered-config: there is no /machine-configs/rendered-master-1.yaml',
    );
  });

  it.each([
    ['no status', 'metadata: {name: master}\nspec: {}\n', /status.configuration.name is missing/],
    [
      'a path',
      POOL.replace('rendered-master-1', '../../x'),
      /status.configuration.name is missing/,
    ],
    ['no YAML', '{very-secret: [', /master.yaml is not YAML \(line 1: wrong indentation\)$/],
    ['another object behind it', `${POOL}---\n${POOL}`, /master.yaml holds more than one object$/],
    ['no object', 'very-secret', /master.yaml: the object: /],
  ])('are missing for a pool with %s', async (_what, text, message) => {
    writeAll();
    write('machine-pools/master.yaml', text);

    const missing = await look();

    expect(missing).toMatch(message);
    expect(missing).not.toContain('very-secret');
  });

  it('are refused for a config that is none, without quoting it', async () => {
    writeAll();
    write('machine-configs/rendered-master-1.yaml', 'very-secret: {');
    const served = await look();
    if (typeof served === 'string') throw new Error(served);

    const prepared = prepareNow({ ...served, version: '3.5', maxBytes: 1e6 });

    expect(prepared).toMatchObject({ state: 'refused' });
    expect(JSON.stringify(prepared)).not.toContain('very-secret');
  });
});

describe('join tokens of files', () => {
  const fields = {
    pool: 'master',
    hash: 'a'.repeat(64),
    createdAt: '2026-01-01T00:00:00Z',
    expiresAt: '2026-01-02T00:00:00Z',
  };
  const secret = (given: Record<string, string>) =>
    JSON.stringify({
      metadata: { name: 'join-token-0123456789' },
      type: 'slipway.dev/join-token',
      data: Object.fromEntries(
        Object.entries(given).map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
      ),
    });

  const other = (given: Record<string, string>) =>
    secret(given).replace('join-token-0123456789', 'join-token-9876543210');

  /** Follows the directory; `pool` resolves when the token has this pool. */
  async function follow(within = directory) {
    const lines: string[] = [];
    let read: () => void = () => undefined;
    const write = (level: string) => (fields: object, message: string) => {
      lines.push(`${level}: ${message} ${JSON.stringify(fields).replaceAll(directory, '')}`);
      if (message === 'read the join tokens again') read();
    };
    const log = { info: write('info'), warn: write('warn'), error: write('error') };
    const tokens = await followBootstrapTokens(within, { signal: abort.signal, log });
    const pool = (wanted: string | undefined) =>
      new Promise<void>((resolve) => {
        read = () => {
          if (tokens.find('0123456789')?.pool === wanted) resolve();
        };
      });
    return { tokens, lines, pool };
  }

  it('are read, where there are any', async () => {
    expect((await follow()).tokens.find('0123456789')).toBeUndefined();

    write('join-tokens/one.yaml', secret(fields));
    write('join-tokens/README', 'no token');

    const { tokens, lines } = await follow();
    expect(tokens.isSynced).toBe(true);
    expect(tokens.find('0123456789')).toEqual({ id: '0123456789', ...fields });
    expect(lines).toEqual([]);
  });

  it('are read as kubectl makes them, with a time of creation that is null', async () => {
    const made = secret(fields).replace('"metadata":{', '"metadata":{"creationTimestamp":null,');
    write('join-tokens/one.yaml', made);

    const { tokens, lines } = await follow();

    expect(tokens.find('0123456789')?.pool).toBe('master');
    expect(lines).toEqual([]);
  });

  it('are read again when files come, change and go, also in a directory that came later', async () => {
    const { pool } = await follow();
    const folder = join(directory, 'join-tokens');
    const come = pool('master');
    write('join-tokens/one.yaml', secret(fields));
    await come;

    const changed = pool('arbiter');
    write('join-tokens/one.yaml', secret({ ...fields, pool: 'arbiter' }));
    await changed;

    const gone = pool(undefined);
    rmSync(folder, { recursive: true });
    await gone;

    const back = pool('master');
    write('join-tokens/one.yaml', secret(fields));
    await expect(back).resolves.toBeUndefined();
  });

  it('are read when the whole directory comes after the server', async () => {
    const { pool } = await follow(join(directory, 'var', 'bootstrap'));

    const come = pool('master');
    write('var/bootstrap/join-tokens/one.yaml', secret(fields));

    await expect(come).resolves.toBeUndefined();
  });

  it('are read again when the file goes that a link leads to, and when it comes back', async () => {
    write('elsewhere/m.yaml', secret(fields));
    mkdirSync(join(directory, 'bootstrap/join-tokens'), { recursive: true });
    symlinkSync('../../elsewhere/m.yaml', join(directory, 'bootstrap/join-tokens/link.yaml'));
    const { tokens, pool } = await follow(join(directory, 'bootstrap'));
    expect(tokens.find('0123456789')?.pool).toBe('master');

    const gone = pool(undefined);
    rmSync(join(directory, 'elsewhere/m.yaml'));
    await gone;

    const back = pool('arbiter');
    write('elsewhere/m.yaml', secret({ ...fields, pool: 'arbiter' }));
    await expect(back).resolves.toBeUndefined();
  });

  it('are read again when a link comes, and its file goes then', async () => {
    write('elsewhere/m.yaml', secret(fields));
    const { pool } = await follow();
    const come = pool('master');
    mkdirSync(join(directory, 'join-tokens'));
    symlinkSync('../elsewhere/m.yaml', join(directory, 'join-tokens/link.yaml'));
    await come;

    const gone = pool(undefined);
    rmSync(join(directory, 'elsewhere/m.yaml'));
    await expect(gone).resolves.toBeUndefined();
  });

  it('are read again when Kubernetes swaps the directory of a mounted Secret', async () => {
    write('join-tokens/..one/m.yaml', secret(fields));
    write('join-tokens/..two/m.yaml', secret({ ...fields, pool: 'arbiter' }));
    const data = join(directory, 'join-tokens/..data');
    symlinkSync('..one', data);
    symlinkSync('..data/m.yaml', join(directory, 'join-tokens/m.yaml'));
    const { tokens, pool } = await follow();
    expect(tokens.find('0123456789')?.pool).toBe('master');

    const swapped = pool('arbiter');
    symlinkSync('..two', `${data}_tmp`);
    renameSync(`${data}_tmp`, data);
    await expect(swapped).resolves.toBeUndefined();
  });

  it.each([
    ['a wrong hash', secret({ ...fields, hash: 'short' }), 'hash is not a SHA-256 in hex'],
    ['no YAML', 'very-secret: [', '/join-tokens/one.yaml is not YAML (line 1: wrong indentation)'],
  ])('leave out a file with %s, loudly, and keep the others', async (_, text, reason) => {
    write('join-tokens/one.yaml', text);
    write('join-tokens/two.yaml', other(fields));

    const { tokens, lines } = await follow();

    expect(tokens.find('0123456789')).toBeUndefined();
    expect(tokens.find('9876543210')?.pool).toBe('master');
    expect(lines).toEqual([
      `error: a file holds no join token, and is left out ${JSON.stringify({ file: '/join-tokens/one.yaml', reason })}`,
    ]);
  });
});
