import { buildProgram } from '../../../cli/program';
import type { CliCluster, CliContext, ClusterView } from '../../../cli/ports';
import { openTerminal } from '../../../cli/terminal';
import type { HistoryRecord } from '../../../core/history/record';
import { ANNOTATION } from '../../../core/names';
import { markOf } from '../../../core/node/turn';
import type { Node } from '../../../core/node/types';
import type { MachineConfigPool } from '../../../core/pool/types';
import { aPoolRollout, aView, NO_DOCTOR, NO_STREAMS, NO_SUPPORT } from './cluster-view';

const NOW = Date.parse('2030-01-02T00:00:00Z');
const [OLD, NEW] = ['rendered-worker-old', 'rendered-worker-new'];

/** Of the last day. */
const at = (time: string): string => `2030-01-01T${time}:00Z`;

function kept(records: readonly HistoryRecord[] | string): Readonly<Record<string, string>> {
  const text = typeof records === 'string' ? records : JSON.stringify(records);
  return { [ANNOTATION.HISTORY]: text };
}

function aNode(name: string, annotations: Readonly<Record<string, string>> = {}): Node {
  return { metadata: { name, labels: { role: 'worker' }, annotations } };
}

function aPool(
  name: string,
  annotations: Readonly<Record<string, string>> = {},
): MachineConfigPool {
  return {
    metadata: { name, annotations },
    spec: { configuration: { name: NEW }, nodeSelector: { matchLabels: { role: name } } },
  };
}

const REPAIRED = aNode('w-1', {
  [ANNOTATION.CURRENT_CONFIG]: OLD,
  [ANNOTATION.DESIRED_CONFIG]: NEW,
  [ANNOTATION.UPDATE_RUN]: markOf({ id: 'run-6', startedAt: at('23:50') }),
  ...kept([
    {
      ...{ run: 'run-5', config: OLD, startedAt: at('20:00'), endedAt: at('20:04') },
      ...{ outcome: 'updated', takesBack: true, seconds: { Preparing: 0.2, Verifying: 10 } },
    },
    { at: at('19:50'), word: 'skip', by: 'ada', reason: 'hardware fault' },
    { run: 'run-4', config: NEW, startedAt: at('19:00'), outcome: 'lost' },
    {
      ...{ run: 'run-3', config: NEW, from: OLD, startedAt: at('18:30'), endedAt: at('18:40') },
      ...{ outcome: 'cancelled', phase: 'Draining', reason: 'skipped: in use (bob)' },
      seconds: { Preparing: 2, WaitingForGrant: 60, Draining: 538 },
    },
    { at: at('18:20'), word: 'retry' },
    {
      ...{ run: 'run-2', config: NEW, from: OLD, startedAt: at('17:00'), endedAt: at('18:10') },
      ...{ outcome: 'failed', phase: 'Rebooting', stuck: true },
      ...{ reason: 'VerifyFailed: unit chronyd.service has failed' },
      seconds: { Preparing: 2, Draining: 20.4, Rebooting: 3000 },
    },
    {
      ...{ run: 'run-1', config: OLD, startedAt: at('10:00'), endedAt: at('10:01') },
      ...{ outcome: 'updated', seconds: { Preparing: 60 } },
    },
  ]),
});

const WORKER = aPool(
  'worker',
  kept([
    {
      config: NEW,
      startedAt: at('17:00'),
      stood: [{ state: 'Halted', since: at('18:10'), reason: '1 node failed' }],
    },
    { at: at('16:59'), word: 'start', by: 'ada' },
    {
      ...{ config: OLD, startedAt: at('10:00'), endedAt: at('12:00'), outcome: 'Retargeted' },
      counts: { machines: 3, updated: 1, failed: 1, held: 1 },
      failed: [{ node: 'w-9', reason: 'DrainTimeout: budget shop/cart allows 0 disruptions' }],
      held: [{ node: 'w-8', reason: 'skipped: disk (ada)' }],
      stood: [
        {
          state: 'Paused',
          since: at('10:30'),
          until: at('11:30'),
          reason: 'pool worker is paused (freeze (bob))',
        },
      ],
    },
    { at: at('10:29'), word: 'pause', by: 'bob', reason: 'freeze' },
  ]),
);

/** On the old config, when the pool had the new one. */
const FAILED_LATER = aNode(
  'w-3',
  kept([{ run: 'run-7', config: OLD, startedAt: at('21:00'), outcome: 'failed' }]),
);

const VIEW = aView({
  pools: [WORKER, aPool('infra')],
  nodes: [REPAIRED, aNode('w-2'), FAILED_LATER],
  poolRollouts: new Map([
    [
      'worker',
      aPoolRollout({
        config: NEW,
        state: 'Halted',
        failed: [{ node: 'w-2', reason: 'HostUnreachable: nobody answers' }],
      }),
    ],
  ]),
});

async function run(line: readonly string[], view: Partial<ClusterView> = VIEW) {
  const said = { out: '', err: '', code: 0 };
  const cluster: Partial<CliCluster> = { read: async () => aView(view) };
  const sinks = {
    out: { write: (text: string) => (said.out += text) },
    err: { write: (text: string) => (said.err += text) },
  };
  const context: CliContext = {
    terminal: openTerminal(sinks, { color: false, env: {} }),
    now: () => NOW,
    signal: new AbortController().signal,
    user: () => Promise.resolve(undefined),
    cluster: async () => cluster as CliCluster,
    temporal: () => Promise.reject(new Error('nobody asks Temporal')),
    temporalSetup: () => Promise.reject(new Error('nobody sets up')),
    doctor: NO_DOCTOR,
    support: NO_SUPPORT,
    streams: NO_STREAMS,
  };
  const exit = (code: number) => (said.code = code);
  await buildProgram({ exit, context: () => context }).parseAsync(['node', 'slipway', ...line]);
  return said;
}

const itemsOf = ({ out }: { readonly out: string }) =>
  (JSON.parse(out) as { readonly items: readonly object[] }).items;

describe('node history', () => {
  it('is a table for people, newest first, without Temporal', async () => {
    const { out, err, code } = await run(['node', 'history', 'w-1']);

    expect(out).toMatchInlineSnapshot(`
      "WHAT        WHEN         TOOK    DETAIL
      running     now          10m0s   rendered-worker-new
                                       from rendered-worker-old
      updated     3h56m ago    4m0s    rendered-worker-old
                                       taken back to what it was on
                                       Verifying 10s
      skip        4h10m ago            by ada: hardware fault
      lost        5h0m ago             rendered-worker-new
      cancelled   5h20m ago    10m0s   rendered-worker-new
                                       from rendered-worker-old
                                       in Draining: skipped: in use (bob)
                                       Preparing 2s, WaitingForGrant 1m0s, Draining 8m58s
      retry       5h40m ago
      failed      5h50m ago    1h10m   rendered-worker-new
                                       from rendered-worker-old
                                       in Rebooting: VerifyFailed: unit chronyd.service has failed
                                       left out of service
                                       Preparing 2s, Draining 20s, Rebooting 50m0s
      updated     13h59m ago   1m0s    rendered-worker-old
                                       Preparing 1m0s
      "
    `);
    expect({ err, code }).toEqual({ err: '', code: 0 });
  });

  it('is a list of records for programs', async () => {
    const items = itemsOf(await run(['node', 'history', 'w-1', '-o', 'json']));

    expect(items).toHaveLength(8);
    expect(items.slice(0, 3)).toEqual([
      {
        ...{ kind: 'update', node: 'w-1', run: 'run-6', config: NEW, from: OLD },
        ...{ startedAt: at('23:50'), outcome: 'running' },
      },
      {
        ...{ kind: 'update', node: 'w-1', run: 'run-5', config: OLD, takesBack: true },
        ...{ startedAt: at('20:00'), endedAt: at('20:04'), outcome: 'updated' },
        seconds: { Preparing: 0.2, Verifying: 10 },
      },
      {
        kind: 'word',
        node: 'w-1',
        at: at('19:50'),
        word: 'skip',
        by: 'ada',
        reason: 'hardware fault',
      },
    ]);
  });

  it('says where there is none', async () => {
    expect(await run(['node', 'history', 'w-2'])).toEqual({
      out: '',
      err: 'no update of node w-2 is recorded\n',
      code: 0,
    });
    await expect(run(['node', 'history', 'w-7'])).rejects.toMatchObject({
      exitCode: 3,
      message: 'node w-7 not found; its history has gone with it',
    });
  });

  it('says which annotation to mend where it is not readable', async () => {
    const view = { nodes: [aNode('w-1', kept('oops'))] };

    expect(await run(['node', 'history', 'w-1'], view)).toEqual({
      out: '',
      err:
        'the history of node w-1 is not readable: it is no JSON; mend its annotation slipway.dev/history: ' +
        'kubectl edit node w-1 (the next record moves it to slipway.dev/history-unreadable)\n',
      code: 4,
    });
  });
});

describe('rollout history', () => {
  it('is a table for people, with what people said about the pool and its nodes', async () => {
    const { out, err, code } = await run(['rollout', 'history', 'worker']);

    expect(out).toMatchInlineSnapshot(`
      "POOL     WHAT         WHEN         TOOK   NODES   DETAIL
      worker   Halted       now          7h0m   0/1     rendered-worker-new
                                                        Halted for 5h50m: 1 node failed
                                                        w-1: an update was lost
                                                        w-1 failed in Rebooting: VerifyFailed: unit chronyd.service has failed
                                                        w-2 failed: HostUnreachable: nobody answers
      worker   skip         4h10m ago                   w-1 by ada: hardware fault
      worker   retry        5h40m ago                   w-1
      worker   start        7h1m ago                    by ada
      worker   Retargeted   12h0m ago    2h0m   1/3     rendered-worker-old
                                                        Paused for 1h0m: pool worker is paused (freeze (bob))
                                                        w-9 failed: DrainTimeout: budget shop/cart allows 0 disruptions
                                                        w-8 was left out: skipped: disk (ada)
      worker   pause        13h31m ago                  by bob: freeze
      "
    `);
    expect({ err, code }).toEqual({ err: '', code: 0 });
  });

  it('is of all pools without a name, and with more columns when wide', async () => {
    const wide = await run(['rollout', 'history', '-o', 'wide']);

    expect(wide.out).toMatch(/^POOL +WHAT +WHEN +TOOK +NODES +STARTED +ENDED +DETAIL$/m);
    expect(itemsOf(await run(['rollout', 'history', '-o', 'json']))).toEqual(
      itemsOf(await run(['rollout', 'history', 'worker', '-o', 'json'])),
    );
  });

  it('is a list of records for programs', async () => {
    const items = itemsOf(await run(['rollout', 'history', 'worker', '-o', 'json']));

    expect(items[0]).toEqual({
      ...{ kind: 'rollout', pool: 'worker', config: NEW, startedAt: at('17:00') },
      outcome: 'Halted',
      stood: [{ state: 'Halted', since: at('18:10'), reason: '1 node failed' }],
      counts: { machines: 1, updated: 0, failed: 0, held: 0 },
      failed: [{ node: 'w-2', reason: 'HostUnreachable: nobody answers' }],
      held: [],
      failures: [
        { node: 'w-1', startedAt: at('19:00'), outcome: 'lost' },
        {
          ...{ node: 'w-1', startedAt: at('17:00'), outcome: 'failed', phase: 'Rebooting' },
          reason: 'VerifyFailed: unit chronyd.service has failed',
        },
      ],
    });
    expect(items.slice(1)).toMatchObject([
      { kind: 'word', pool: 'worker', node: 'w-1', word: 'skip' },
      { kind: 'word', pool: 'worker', node: 'w-1', word: 'retry' },
      { kind: 'word', pool: 'worker', word: 'start', by: 'ada' },
      { kind: 'rollout', outcome: 'Retargeted', failures: [] },
      { kind: 'word', pool: 'worker', word: 'pause', by: 'bob', reason: 'freeze' },
    ]);
  });

  it('says where there is none', async () => {
    expect(await run(['rollout', 'history', 'infra'])).toMatchObject({
      err: 'no rollout is recorded of pool infra\n',
      code: 0,
    });
    await expect(run(['rollout', 'history', 'nobody'])).rejects.toMatchObject({
      exitCode: 3,
      message: 'pool nobody not found; there are: worker, infra',
    });
  });

  it('shows what is readable, and says what is not', async () => {
    const nodes = [aNode('w-1', kept('{}'))];
    const view = { pools: [WORKER, aPool('infra', kept('oops'))], nodes };
    const { out, err, code } = await run(['rollout', 'history'], view);

    expect(out).toContain(OLD);
    expect(err).toMatch(
      /history of node w-1 .* no list of records.*\n.*history of mcp infra .* no JSON/,
    );
    expect(code).toBe(4);
  });
});
