import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import {
  createJoinToken,
  listJoinTokens,
  pruneJoinTokens,
  revokeJoinToken,
} from '../../../cli/commands/join-token';
import { EXIT } from '../../../cli/exit-codes';
import { parseJoinToken } from '../../../core/join';
import { aContext, aRecord, NOW } from './join-context';

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

describe('slipway join-token create', () => {
  it('prints the token alone, once, and stores its hash alone', async () => {
    const { context, tokens, out, err } = aContext();

    const code = await createJoinToken(
      context,
      { pool: 'worker', ttlSeconds: 600, description: 'rack 4' },
      'table',
    );

    expect(code).toBe(EXIT.OK);
    const parts = parseJoinToken(out().trim());
    expect(out()).toBe(`slipway-join.${parts?.id}.${parts?.secret}\n`);
    expect(tokens).toEqual([
      {
        id: parts?.id,
        pool: 'worker',
        hash: sha256(parts?.secret ?? ''),
        createdAt: '2030-01-01T00:00:00Z',
        expiresAt: '2030-01-01T00:10:00Z',
        description: 'rack 4',
      },
    ]);
    expect(JSON.stringify(tokens) + err()).not.toContain(parts?.secret);
    expect(err()).toContain(
      `join token ${parts?.id} lets machines into pool worker until 2030-01-01T00:10:00Z`,
    );
  });

  it('prints it for programs, too, and lives for two hours unless told otherwise', async () => {
    const { context, tokens, out, err } = aContext();

    await createJoinToken(context, { pool: 'worker' }, 'json');

    expect(JSON.parse(out())).toEqual({
      id: tokens[0]?.id,
      pool: 'worker',
      token: expect.stringMatching(/^slipway-join\./) as string,
      createdAt: '2030-01-01T00:00:00Z',
      expiresAt: '2030-01-01T02:00:00Z',
    });
    expect(err()).toBe('');
  });

  it('names the pools that there are when this one is not', async () => {
    const { context, tokens } = aContext();

    await expect(createJoinToken(context, { pool: 'wroker' }, 'table')).rejects.toMatchObject({
      exitCode: EXIT.NOT_FOUND,
      message: 'pool wroker not found; there are: master, worker',
    });
    expect(tokens).toEqual([]);
  });

  it.each([
    [{ ttlSeconds: 59 }, '--ttl 59s: a join token lives from 1m to 2160h'],
    [{ ttlSeconds: 2161 * 3600 }, '--ttl 2161h: a join token lives from 1m to 2160h'],
    [{ description: 'a\nb' }, '--description: expected one line of at most 200 characters'],
    [{ description: '\u001b[2J' }, '--description: expected one line of at most 200 characters'],
    [
      { description: 'x'.repeat(201) },
      '--description: expected one line of at most 200 characters',
    ],
  ])('refuses %j before it asks the cluster', async (more, message) => {
    const { context, asked } = aContext();

    await expect(
      createJoinToken(context, { pool: 'worker', ...more }, 'table'),
    ).rejects.toMatchObject({ exitCode: EXIT.USAGE, message });
    expect(asked).toEqual([]);
  });

  it('takes another ID when the first is taken, and gives up when that does not help', async () => {
    const once = aContext({ clashes: 1 });
    await createJoinToken(once.context, { pool: 'worker' }, 'table');
    expect(once.tokens).toHaveLength(1);

    const always = aContext({ clashes: 9 });
    await expect(
      createJoinToken(always.context, { pool: 'worker' }, 'table'),
    ).rejects.toMatchObject({ name: 'Conflict' });
    expect(always.asked.filter((what) => what === 'create worker')).toHaveLength(3);
  });

  it('removes old tokens, and makes the new one also where it may not', async () => {
    const { context, asked, out, err } = aContext({ pruneFails: true });

    expect(await createJoinToken(context, { pool: 'worker' }, 'table')).toBe(EXIT.OK);

    expect(asked).toEqual(['cluster', 'create worker', `prune ${NOW}`]);
    expect(out()).toMatch(/^slipway-join\./);
    expect(err()).toContain('still there: delete Secret: forbidden');
  });
});

describe('slipway join-token create --secret-file', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'slipway-join-token-'));
  });
  afterEach(() => rm(directory, { recursive: true }));

  it('writes what the cluster would store, for a server that has no cluster yet', async () => {
    const { context, asked, out } = aContext();
    const secretFile = join(directory, 'master.yaml');

    await createJoinToken(context, { pool: 'master', secretFile }, 'table');

    const parts = parseJoinToken(out().trim());
    const text = await readFile(secretFile, 'utf8');
    const secret = parse(text) as { metadata: { name: string }; data: Record<string, string> };
    const fields = Object.entries(secret.data).map(([key, value]) => [
      key,
      Buffer.from(value, 'base64').toString(),
    ]);
    expect(secret).toMatchObject({
      apiVersion: 'v1',
      kind: 'Secret',
      type: 'slipway.dev/join-token',
    });
    expect(secret.metadata.name).toBe(`join-token-${parts?.id}`);
    expect(Object.fromEntries(fields)).toEqual({
      pool: 'master',
      hash: sha256(parts?.secret ?? ''),
      createdAt: '2030-01-01T00:00:00Z',
      expiresAt: '2030-01-01T02:00:00Z',
    });
    expect(text).not.toContain(parts?.secret);
    expect(asked).toEqual([]);
  });

  it('says that a pool is not served from files', async () => {
    const { context, err } = aContext();
    const secretFile = join(directory, 'worker.yaml');

    await createJoinToken(context, { pool: 'worker', secretFile }, 'table');

    expect(err()).toContain(
      'pool worker is not served from files: without a cluster, only master and arbiter are\n',
    );
  });

  it.each(['', 'Bad Pool', 'master/', '-a', 'a.', 'x'.repeat(64)])(
    'makes none for %j, which is not the name of a pool',
    async (pool) => {
      const secretFile = join(directory, 'x.yaml');

      await expect(
        createJoinToken(aContext().context, { pool, secretFile }, 'table'),
      ).rejects.toMatchObject({
        exitCode: EXIT.USAGE,
        message: expect.stringContaining('is not the name of a pool') as string,
      });

      expect(await readdir(directory)).toEqual([]);
    },
  );

  it('makes the directory, which only its owner may read', async () => {
    const secretFile = join(directory, 'join-tokens', 'master.yaml');

    await createJoinToken(aContext().context, { pool: 'master', secretFile }, 'table');

    expect(await readFile(secretFile, 'utf8')).toContain('kind: Secret');
    expect((await stat(join(directory, 'join-tokens'))).mode & 0o777).toBe(0o700);
  });

  it('overwrites nothing, because another token would end by it', async () => {
    const secretFile = join(directory, 'master.yaml');
    await writeFile(secretFile, 'mine');

    await expect(
      createJoinToken(aContext().context, { pool: 'master', secretFile }, 'table'),
    ).rejects.toMatchObject({ exitCode: EXIT.USAGE });

    expect(await readFile(secretFile, 'utf8')).toBe('mine');
  });
});

describe('slipway join-token list', () => {
  const tokens = [
    aRecord({ id: 'aaaaaaaaaa', expiresAt: '2029-12-31T23:30:00Z', description: 'rack 4' }),
    aRecord({ id: 'bbbbbbbbbb', lastUsedAt: '2029-12-31T23:59:30Z' }),
    {
      id: 'cccccccccc',
      problem: 'hash is not a SHA-256 in hex',
      createdAt: '2029-12-31T23:59:00Z',
    },
  ];

  it('shows what each is for and how it stands', async () => {
    const { context, out } = aContext({ tokens });

    await listJoinTokens(context, 'wide');

    expect(out()).toBe(
      [
        'ID           POOL     CREATED    EXPIRES     LAST USED   STATE      DESCRIPTION',
        'aaaaaaaaaa   worker   1h0m ago   30m0s ago   never       Expired    rack 4',
        'bbbbbbbbbb   worker   1h0m ago   in 1h0m     30s ago     Valid',
        'cccccccccc            1m0s ago                           Unusable   hash is not a SHA-256 in hex',
        '',
      ].join('\n'),
    );
  });

  it('shows programs everything but the hash', async () => {
    const { context, out } = aContext({ tokens });

    await listJoinTokens(context, 'json');

    const { items } = JSON.parse(out()) as { items: object[] };
    expect(items[1]).toEqual({
      id: 'bbbbbbbbbb',
      pool: 'worker',
      createdAt: '2029-12-31T23:00:00Z',
      expiresAt: '2030-01-01T01:00:00Z',
      lastUsedAt: '2029-12-31T23:59:30Z',
      state: 'Valid',
    });
    expect(out()).not.toContain('ffff');
  });

  it('says how to make one when there is none', async () => {
    const { context, out, err } = aContext();

    expect(await listJoinTokens(context, 'table')).toBe(EXIT.OK);

    expect(out()).toBe('');
    expect(err()).toContain('slipway join-token create --pool <name>');
  });
});

describe('slipway join-token revoke', () => {
  it('ends a token, by its ID or by the token itself', async () => {
    const { context, tokens, err } = aContext({
      tokens: [aRecord(), aRecord({ id: 'aaaaaaaaaa' })],
    });

    await revokeJoinToken(context, '0123456789');
    await revokeJoinToken(context, `slipway-join.aaaaaaaaaa.${'x'.repeat(43)}`);

    expect(tokens).toEqual([]);
    expect(err()).toBe('join token 0123456789 revoked\njoin token aaaaaaaaaa revoked\n');
  });

  it('does not find one that is not there', async () => {
    await expect(revokeJoinToken(aContext().context, '0123456789')).rejects.toMatchObject({
      exitCode: EXIT.NOT_FOUND,
      message: 'join token 0123456789 not found; see slipway join-token list',
    });
  });

  it('repeats nothing that may be a secret', async () => {
    const pasted = `slipway-join.0123456789.${'x'.repeat(42)}`;

    await expect(revokeJoinToken(aContext().context, pasted)).rejects.toMatchObject({
      exitCode: EXIT.USAGE,
      message: expect.not.stringContaining('xxx') as string,
    });
  });
});

it('slipway join-token prune says what it deleted', async () => {
  const { context, asked, err } = aContext();

  expect(await pruneJoinTokens(context)).toBe(EXIT.OK);

  expect(asked).toContain(`prune ${NOW}`);
  expect(err()).toBe('no join token has expired a day ago or earlier\n');
});
