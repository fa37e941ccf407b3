/** A server in mode `tokens`, asked over TLS by machines with and without the tokens of the CLI. */

import { connect } from 'node:net';
import { text as textOf } from 'node:stream/consumers';
import { connect as secure } from 'node:tls';
import { createJoinToken, listJoinTokens, revokeJoinToken } from '../../../cli/commands/join-token';
import { kubeCluster } from '../../../cli/kube-cluster';
import type { CliContext } from '../../../cli/ports';
import { openTerminal } from '../../../cli/terminal';
import { MACHINE_CONFIG_POOLS } from '../../../adapters/kube/resources';
import { parseJoinToken } from '../../../core/join';
import { eventually } from '../kube/fixture';
import { startEndpoint, type EndpointFixture } from './endpoint-fixture';

jest.setTimeout(240_000);

let fixture: EndpointFixture;

beforeAll(async () => {
  fixture = await startEndpoint([]);
  for (const pool of ['worker', 'master']) {
    const name = `rendered-${pool}-1`;
    await fixture.addConfig(name, pool, {
      config: {
        ignition: { version: '3.5.0' },
        storage: { files: [{ path: '/etc/a', contents: { source: `data:,${pool}` } }] },
      },
    });
    const { admin } = fixture.kube;
    const configuration = { name };
    await admin.patch(MACHINE_CONFIG_POOLS, { name: pool }, { spec: { configuration } });
    await admin.patch(
      MACHINE_CONFIG_POOLS,
      { name: pool, subresource: 'status' },
      { status: { configuration } },
    );
  }
});
afterAll(() => fixture?.stop());

/** The administrator's command line, at this time. */
function commandLine(now: () => number = Date.now) {
  const out: string[] = [];
  const sink = { write: (text: string) => out.push(text) };
  const ignored = { write: () => true };
  const context: Partial<CliContext> = {
    terminal: openTerminal({ out: sink, err: ignored }, { color: false, env: {} }),
    now,
    cluster: async () => kubeCluster(fixture.kube.admin, fixture.kube.log),
  };
  return { context: context as CliContext, out: () => out.join('') };
}

async function newToken(pool: string, now?: () => number): Promise<string> {
  const { context, out } = commandLine(now);
  await createJoinToken(context, { pool, ttlSeconds: 600 }, 'table');
  return out().trim();
}

const idOf = (token: string) => parseJoinToken(token)?.id ?? '';

/** Failed attempts are limited by address, so waits use another one than checks. */
const WAITING = '127.0.0.9';

/** The whole answer, without the time of day. */
async function wire(pool: string, header?: string, localAddress = '127.0.0.1'): Promise<string> {
  const { hostname, port } = new URL(fixture.server.ignitionUrl);
  const ca = fixture.kube.cluster.ca;
  const plain = connect({ host: hostname, port: Number(port), localAddress });
  const socket = secure({ socket: plain, host: hostname, ca });
  const authorization = header === undefined ? '' : `Authorization: ${header}\r\n`;
  socket.write(
    `GET /config/${pool} HTTP/1.1\r\nHost: ${hostname}\r\n${authorization}Connection: close\r\n\r\n`,
  );
  return (await textOf(socket)).replace(/^date: .*\r\n/im, '');
}

const statusOf = (answer: string) => Number(/^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1]);

/** Waits until the server knows of the change by the command line. */
async function untilStatus(status: number, pool: string, token: string): Promise<string> {
  return eventually(async () => {
    const answer = await wire(pool, `Bearer ${token}`, WAITING);
    expect(statusOf(answer)).toBe(status);
    return answer;
  });
}

it('gives a machine with the token of its pool the config of its pool', async () => {
  const token = await newToken('worker');

  const answer = await untilStatus(200, 'worker', token);

  expect(answer).toContain('/etc/a');
  expect(answer).toContain('data:,worker');
});

it('answers whatever else is shown with the same bytes as nothing', async () => {
  const right = await newToken('worker');
  const revoked = await newToken('worker');
  const other = await newToken('master');
  const expired = await newToken('worker', () => Date.now() - 3_600_000);
  await untilStatus(200, 'worker', right);
  await untilStatus(200, 'worker', revoked);
  await untilStatus(200, 'master', other);
  await revokeJoinToken(commandLine().context, idOf(revoked));
  await untilStatus(401, 'worker', revoked);
  const wrong = right.slice(0, -1) + (right.endsWith('A') ? 'B' : 'A');
  const unknown = right.replace(idOf(right), '0000000000');

  const nothing = await wire('worker');
  const others = await Promise.all([
    ...[wrong, unknown, revoked, expired, other].map((token) => wire('worker', `Bearer ${token}`)),
    wire('worker', 'Bearer x'),
    wire('worker', `Basic ${Buffer.from('core:core').toString('base64')}`),
    wire('master', `Bearer ${right}`),
    wire('no-such-pool'),
    wire('no-such-pool', `Bearer ${right}`),
  ]);

  expect(nothing).toMatch(/^HTTP\/1\.1 401 Unauthorized\r\n/);
  expect(nothing).toMatch(/\r\n\r\n$/);
  expect(new Set(others)).toEqual(new Set([nothing]));
  expect(statusOf(await wire('worker', `Bearer ${right}`))).toBe(200);
});

it('judges a path that is not clean by what it comes to', async () => {
  const token = await newToken('worker');
  await untilStatus(200, 'worker', token);
  const ask = async (path: string) => statusOf(await wire(path, `Bearer ${token}`));

  for (const path of ['../config/worker', '/worker', './worker', 'master/../worker']) {
    expect([path, await ask(path)]).toEqual([path, 200]);
  }
  for (const path of ['../config/master', '/master', 'worker/../master', 'worker/%2e%2e/master']) {
    expect([path, await ask(path)]).toEqual([path, 401]);
  }
});

it('notes when a token was used last, and counts how requests were judged', async () => {
  const token = await newToken('master');
  await untilStatus(200, 'master', token);

  await eventually(async () => {
    const { context, out } = commandLine();
    await listJoinTokens(context, 'json');
    const { items } = JSON.parse(out()) as { items: { id: string; lastUsedAt?: string }[] };
    expect(items.find(({ id }) => id === idOf(token))?.lastUsedAt).toMatch(/^\d{4}-.*Z$/);
  });
  const metrics = await (await fetch(`${fixture.server.plainUrl}/metrics`)).text();
  for (const outcome of ['admitted', 'no_token', 'unknown_token', 'wrong_secret', 'other_pool']) {
    expect(metrics).toMatch(
      new RegExp(`^slipway_server_joins_total\\{outcome="${outcome}"\\} [1-9]\\d*$`, 'm'),
    );
  }
  expect(metrics).toMatch(/^slipway_server_joins_total\{outcome="expired"\} [1-9]/m);
});
