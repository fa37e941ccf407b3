import { pino } from 'pino';
import {
  type DriftAnswer,
  type DriftReport,
  type DriftStatus,
  REPAIR_WINDOW,
} from '../../../core/drift';
import { fail } from '../../../core/errors';
import { ANNOTATION } from '../../../core/names';
import type { SignedText } from '../../../core/orders';
import type { MachineConfigNode, Node } from '../../../core/node/types';
import type { RolloutPolicySpec } from '../../../core/pool/types';
import { buildServer } from '../../../server/app';
import type { PeerSubject } from '../../../server/ports';

const peer = (node: string): PeerSubject => ({
  commonNames: [`system:node:${node}`],
  organizations: ['system:nodes'],
});

const CLEAN: DriftReport = {
  config: 'rendered-worker-1',
  findings: [],
  count: 0,
  repairs: [],
  forced: false,
};
const DRIFTED: DriftReport = {
  ...CLEAN,
  findings: [
    {
      path: '/etc/a',
      kind: 'content',
      detail: 'content mismatch for file "/etc/a"',
      since: '2030-01-01T00:00:00Z',
    },
  ],
  count: 1,
};

interface Given {
  readonly policy?: RolloutPolicySpec;
  readonly without?: 'MachineConfigNode';
  readonly maxUnavailable?: number;
  readonly others?: readonly string[];
  readonly isControlPlane?: true;
  /** PEM. */
  readonly serverAuthority?: string;
  readonly orderStatements?: readonly SignedText[];
}

function aServer(options: Given = {}) {
  const state = {
    /** Time of day. */
    time: 0,
    cordoned: [] as readonly string[],
    granted: [] as readonly string[],
    peer: peer('worker-1') as PeerSubject | undefined,
    away: false,
    now: 0,
    annotations: { [ANNOTATION.CURRENT_CONFIG]: 'rendered-worker-1' } as Record<string, string>,
    known: {
      metadata: { name: 'worker-1', uid: 'u1', resourceVersion: '1' },
      spec: {
        node: { name: 'worker-1' },
        pool: { name: 'worker' },
        configVersion: { desired: 'rendered-worker-1' },
      },
    } as MachineConfigNode,
  };
  const written: { node: string; status: DriftStatus }[] = [];
  const lines: string[] = [];
  const workers = { 'node-role.kubernetes.io/worker': '' };
  const role = { 'node-role.kubernetes.io/control-plane': 'true' };
  const labels = { ...workers, ...(options.isControlPlane === true ? role : {}) };
  const nodes = (): Node[] =>
    ['worker-1', ...(options.others ?? [])].map((name) => ({
      metadata: { name, labels, annotations: name === 'worker-1' ? state.annotations : {} },
      spec: { unschedulable: state.cordoned.includes(name) },
    }));
  const { maxUnavailable } = options;
  const limit = maxUnavailable === undefined ? {} : { maxUnavailable };
  const spec = { nodeSelector: { matchLabels: workers }, ...limit };
  const server = buildServer({
    cluster: {
      node: (name) => nodes().find(({ metadata }) => metadata.name === name),
      nodes,
      pools: () => [{ metadata: { name: 'worker' }, spec }],
      granted: () => state.granted,
      machineConfigNode: () => (options.without === undefined ? state.known : undefined),
      policy: (name) =>
        options.policy === undefined ? undefined : { metadata: { name }, spec: options.policy },
      pinnedImageSets: () => [],
      machineConfiguration: () => ({
        metadata: { name: 'cluster' },
        spec: {
          nodeDisruptionPolicy: { files: [{ path: '/etc/a', actions: [{ type: 'None' }] }] },
        },
      }),
      missing: () => [],
      onMoved: () => () => undefined,
    },
    readMachineConfig: async () => undefined,
    readNode: async () => undefined,
    readPools: async () => [],
    writeDrift: async (node, status) => {
      if (state.away) throw fail('ApiUnavailable', 'connection refused');
      written.push({ node, status });
      return {
        ...state.known,
        metadata: { ...state.known.metadata, resourceVersion: String(written.length + 1) },
        status: {
          conditions: [status.condition, status.updaters ?? []].flat(),
          drift: status.drift,
          ...(status.hostWorker === undefined ? {} : { hostWorker: status.hostWorker }),
        },
      };
    },
    logger: pino({ level: 'debug' }, { write: (line: string) => lines.push(line) }),
    identify: () => state.peer,
    clock: () => state.now,
    wallClock: () => state.time,
    serverAuthority: () => options.serverAuthority,
    orderStatements: () => options.orderStatements ?? [],
  });
  const put = (payload: object | string, headers: Record<string, string> = {}) =>
    server.host.inject({
      method: 'PUT',
      url: '/host/report',
      payload,
      headers: { 'content-type': 'application/json', ...headers },
    });
  return { state, written, lines, put };
}

describe('PUT /host/report', () => {
  it('tells the authorities of the server, where they are known', async () => {
    const { put } = aServer({ serverAuthority: 'PEM' });

    expect((await put(CLEAN)).json()).toMatchObject({ serverAuthority: 'PEM' });
    expect((await aServer().put(CLEAN)).json()).not.toHaveProperty('serverAuthority');
  });

  it('tells what rolls the keys of orders, where there is something', async () => {
    const statement = { text: '{}', signature: 'AAAA', keyId: 'k1' };
    const { put } = aServer({ orderStatements: [statement] });

    expect((await put(CLEAN)).json()).toMatchObject({ orderKeys: [statement] });
    expect((await aServer().put(CLEAN)).json()).not.toHaveProperty('orderKeys');
  });

  it('records what differs and answers what the pool wants', async () => {
    const { put, written } = aServer({ policy: { drift: 'Repair', repair: { limit: 5 } } });

    const answer = await put(DRIFTED);

    expect(answer.statusCode).toBe(200);
    expect(answer.json()).toEqual({
      drift: { mode: 'Repair', limit: 5, intervalSeconds: 3600 },
      disruptionPolicies: {
        files: [
          {
            path: '/etc/a',
            actions: [{ type: 'None' }],
            field: 'spec.nodeDisruptionPolicy.files[0]',
          },
        ],
      },
      mayDisturb: true,
    });
    expect(written).toMatchObject([
      {
        node: 'worker-1',
        status: {
          condition: {
            type: 'Drifted',
            status: 'True',
            reason: 'ConfigDrift',
            message:
              'unexpected on-disk state validating against rendered-worker-1: content mismatch for file "/etc/a"',
          },
          drift: { count: 1, findings: DRIFTED.findings },
        },
      },
    ]);
  });

  it('writes nothing about a disk that never drifted, nor twice the same', async () => {
    const { put, written } = aServer();

    await put(CLEAN);
    expect(written).toHaveLength(0);
    await put(DRIFTED);
    await put(DRIFTED);
    expect(written).toHaveLength(1);
    await put(CLEAN);
    expect(written.map(({ status }) => status.condition.status)).toEqual(['True', 'False']);
  });

  it('writes what a node came with that no config was ever verified on', async () => {
    const { put, state, written } = aServer();
    state.annotations = {};

    await put(CLEAN);
    await put(CLEAN);

    expect(written).toMatchObject([
      { status: { condition: { status: 'False' }, drift: { config: 'rendered-worker-1' } } },
    ]);
  });

  it('shows which other programs would update the machine, once, until there are none', async () => {
    const { put, written } = aServer();
    const updaters = ['zincati.service', 'kured'];

    await put(CLEAN);
    await put({ ...CLEAN, updaters });
    await put({ ...CLEAN, updaters });
    expect(written).toHaveLength(1);
    await put({ ...CLEAN, updaters: ['kured'] });
    await put(CLEAN);

    expect(written.map(({ status }) => status.updaters?.message)).toEqual([
      'zincati.service, kured would each update or reboot this machine beside Slipway; switch off: systemctl mask --now zincati.service; take kured off this node',
      'kured would update or reboot this machine beside Slipway; switch off: take kured off this node',
      undefined,
    ]);
    expect(written[0]?.status.updaters).toMatchObject({
      type: 'ForeignUpdater',
      status: 'True',
      reason: 'UpdaterEnabled',
    });
  });

  it('shows the version of the host worker, once for each', async () => {
    const { put, written } = aServer();

    await put({ ...CLEAN, version: '1.2.3' });
    await put({ ...CLEAN, version: '1.2.3' });
    await put({ ...CLEAN, version: '1.3.0' });

    expect(written.map(({ status }) => status.hostWorker)).toEqual([
      { version: '1.2.3' },
      { version: '1.3.0' },
    ]);
  });

  it('records reports of one host in the order in which they came', async () => {
    const { put, written } = aServer();

    await Promise.all([put(DRIFTED), put(CLEAN), put(DRIFTED)]);

    expect(written.map(({ status }) => status.condition.status)).toEqual(['True', 'False', 'True']);
  });

  it('takes a report from a node alone, about itself alone', async () => {
    const { put, state, written } = aServer();
    state.peer = { commonNames: ['admin'], organizations: ['system:masters'] };
    expect((await put(DRIFTED)).statusCode).toBe(401);
    state.peer = peer('stranger');
    expect((await put(DRIFTED)).statusCode).toBe(503);
    state.peer = peer('worker-1');
    expect((await put({ ...DRIFTED, node: 'worker-2' })).json()).toMatchObject({
      status: 400,
      message: 'body: Unrecognized key: "node"',
    });
    expect(written).toHaveLength(0);
  });

  it.each([
    ['not JSON', '{', 400],
    ['a list', [], 400],
    ['a finding with its content', withFinding({ content: 'secret' }), 400],
    ['a kind that is none', withFinding({ kind: 'colour' }), 400],
    ['a path that never ends', withFinding({ path: `/${'a'.repeat(600)}` }), 400],
    ['a long version', { ...CLEAN, version: '1'.repeat(65) }, 400],
    ['a list of updaters with none in it', { ...DRIFTED, updaters: [] }, 400],
    ['too many updaters', { ...DRIFTED, updaters: Array(11).fill('a.timer') }, 400],
    ['more findings than counted', { ...DRIFTED, count: 0 }, 400],
    ['too many findings', { ...DRIFTED, findings: Array(21).fill(DRIFTED.findings[0]) }, 400],
    ['too many bytes', { ...DRIFTED, config: 'a'.repeat(300_000) }, 413],
  ])('refuses %s', async (_what, body, status) => {
    const { put, written } = aServer();

    const answer = await put(body);

    expect(answer.statusCode).toBe(status);
    expect(written).toHaveLength(0);
  });

  it.each([
    ['control characters', '/etc/\u001b[31m\u009b31m', '/etc/?[31m?31m'],
    ['what turns the direction of a line', '/etc/\u202egnp.\u2066\u200f', '/etc/?gnp.??'],
    ['other ends of a line', '/etc/a\u2028b\u2029', '/etc/a?b?'],
    ['half a character', '/etc/\ud83d…', '/etc/?…'],
  ])('takes %s in a report, and writes none', async (_what, raw, text) => {
    const { put, written } = aServer();
    const at = '2030-01-01T00:00:00Z';
    const finding = { ...DRIFTED.findings[0], path: raw, detail: raw };

    const answer = await put({
      ...DRIFTED,
      findings: [finding],
      repairs: [{ path: raw, at }],
      unrepaired: raw,
    });

    expect(answer.statusCode).toBe(200);
    expect(written[0]?.status.drift).toMatchObject({
      findings: [{ path: text, detail: text }],
      repairs: [{ path: text, at }],
      unrepaired: text,
    });
    expect(written[0]?.status.condition.message).toContain(text);
  });

  it('slows a host down whose disk flaps', async () => {
    const { put, state } = aServer();
    const answers: number[] = [];
    for (let i = 0; i < 11; i += 1) answers.push((await put(DRIFTED)).statusCode);

    expect(answers).toEqual([...Array<number>(10).fill(200), 429]);
    expect((await put(DRIFTED)).headers['retry-after']).toBe('2');
    state.now += 2_000;
    expect((await put(DRIFTED)).statusCode).toBe(200);
  });

  it('asks to come again when there is no place for it yet, or no API server', async () => {
    expect((await aServer({ without: 'MachineConfigNode' }).put(DRIFTED)).statusCode).toBe(503);
    const { put, state } = aServer();
    state.away = true;
    expect((await put(DRIFTED)).json()).toMatchObject({ status: 503, reason: 'ApiUnavailable' });
  });

  describe('of a pool whose hosts repair their drift', () => {
    const policy: RolloutPolicySpec = { drift: 'Repair' };
    const others = ['worker-0', 'worker-2', 'stranger'];
    const may = async (server: ReturnType<typeof aServer>, report = DRIFTED) =>
      (await server.put(report)).json<DriftAnswer>().mayDisturb;
    /** All of its nodes have drifted at that time. */
    const drifted = (server: ReturnType<typeof aServer>, lastTransitionTime: string): void => {
      const condition = {
        type: 'Drifted',
        status: 'True' as const,
        reason: 'ConfigDrift',
        message: '',
      };
      const conditions = [{ ...condition, lastTransitionTime }];
      server.state.known = { ...server.state.known, status: { conditions } };
    };
    const LONG_AGO = '1969-12-31T00:00:00Z';

    it('says whether it is the turn of the host', async () => {
      const server = aServer({ policy, others });
      drifted(server, LONG_AGO);
      const turns: (boolean | undefined)[] = [];
      for (const window of [0, 1, 2, 3, 4, 5, 6]) {
        server.state.time = window * REPAIR_WINDOW.window;
        turns.push(await may(server));
      }

      expect(turns).toEqual([false, false, true, false, false, false, true]);
      server.state.time += REPAIR_WINDOW.asked;
      expect(await may(server)).toBe(false);
    });

    it('lets no more of a control plane do so at once than its quorum allows', async () => {
      const server = aServer({ policy, others, maxUnavailable: 4, isControlPlane: true });
      drifted(server, LONG_AGO);
      const turns: (boolean | undefined)[] = [];
      for (const window of [0, 1, 2, 3]) {
        server.state.time = window * REPAIR_WINDOW.window;
        turns.push(await may(server));
      }

      expect(turns).toEqual([false, false, true, false]);
    });

    it('counts the nodes out of service, and not the host itself', async () => {
      const server = aServer({ policy, others });
      drifted(server, LONG_AGO);
      server.state.time = 2 * REPAIR_WINDOW.window;
      expect(await may(server)).toBe(true);
      server.state.cordoned = ['worker-0'];
      server.state.time += 1_000;
      expect(await may(server)).toBe(false);
      server.state.cordoned = ['worker-1'];
      server.state.time = 0;
      expect(await may(server)).toBe(true);
    });

    it('counts the nodes that an update may take out of service, too', async () => {
      const server = aServer({ policy, others });
      drifted(server, LONG_AGO);
      server.state.time = 2 * REPAIR_WINDOW.window;
      server.state.granted = ['worker-1'];
      expect(await may(server)).toBe(true);
      server.state.granted = ['worker-2'];
      server.state.time += 1_000;
      expect(await may(server)).toBe(false);
    });

    it('gives none in a window that had begun when it drifted', async () => {
      const server = aServer({ policy, others });
      drifted(server, new Date(2 * REPAIR_WINDOW.window).toISOString());
      server.state.time = 2 * REPAIR_WINDOW.window + 1_000;
      expect(await may(server)).toBe(false);
      server.state.time = 6 * REPAIR_WINDOW.window;
      expect(await may(server)).toBe(true);
    });

    it('keeps the places of a window, whichever nodes drift or are repaired in the middle of it', async () => {
      const server = aServer({ policy, others });
      drifted(server, LONG_AGO);
      server.state.time = 2 * REPAIR_WINDOW.window;
      expect(await may(server)).toBe(true);
      drifted(server, new Date(server.state.time).toISOString());
      server.state.time += 2_000;
      expect(await may(server)).toBe(true);
    });

    it('gives no turn with an invalid limit of the pool', async () => {
      const server = aServer({ policy, others, maxUnavailable: 0 });
      drifted(server, LONG_AGO);
      for (const window of [0, 1, 2, 3]) {
        server.state.time = window * REPAIR_WINDOW.window;
        expect(await may(server)).toBe(false);
      }
    });

    it('gives none to a host that has nothing to repair, or only reports', async () => {
      expect(await may(aServer({ policy }), CLEAN)).toBe(false);
      expect(await may(aServer())).toBe(false);
    });
  });

  it('lets a policy that makes no sense change nothing', async () => {
    const { put, lines } = aServer({ policy: { drift: 'Explode' as 'Report' } });

    expect((await put(DRIFTED)).json()).toMatchObject({
      drift: { mode: 'Report' },
      mayDisturb: false,
    });
    expect(lines.join('')).toContain('set Report or Repair');
  });
});

function withFinding(more: object): object {
  return { ...DRIFTED, findings: [{ ...DRIFTED.findings[0], ...more }] };
}
