import { getNodes, getPools } from '../../../cli/commands/get';
import { cliError, EXIT, type ExitCode } from '../../../cli/exit-codes';
import type { WatchOptions } from '../../../cli/options';
import type { OutputFormat } from '../../../cli/output';
import type { CliCluster, CliContext, ClusterView } from '../../../cli/ports';
import { openTerminal } from '../../../cli/terminal';
import { ANNOTATION } from '../../../core/names';
import type { MachineConfigNode, Node } from '../../../core/node/types';
import type { MachineConfigPool } from '../../../core/pool/types';
import { aView } from './cluster-view';

const WORKER: MachineConfigPool = {
  metadata: { name: 'worker', creationTimestamp: '2026-01-01T00:00:00Z' },
  spec: {
    machineConfigSelector: {},
    nodeSelector: { matchLabels: { 'node-role.kubernetes.io/worker': '' } },
  },
};

function aNode(name: string, state: string, heartbeat = '0'): Node {
  return {
    metadata: {
      name,
      resourceVersion: heartbeat,
      labels: { 'node-role.kubernetes.io/worker': '' },
      annotations: { [ANNOTATION.STATE]: state },
    },
  };
}

function viewOf(...nodes: Node[]): ClusterView {
  return aView({ pools: [WORKER], nodes });
}

/** A cluster with this state at first, and then with the states of `change`. */
function given(first: ClusterView) {
  const text = { out: '', err: '' };
  const sink = (to: 'out' | 'err') => ({
    write: (more: string) => {
      text[to] += more;
    },
  });
  const ctrlC = new AbortController();
  let time = Date.parse('2026-01-01T00:00:10Z');
  let tell: (view: ClusterView) => void = () => undefined;
  const poolNames = jest.fn(() => Promise.resolve<readonly string[]>(['worker']));
  const cluster: Partial<CliCluster> = {
    read: () => Promise.resolve(first),
    poolNames,
    follow: (onChange, signal) =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () => resolve());
        tell = onChange;
      }),
  };
  const context = {
    terminal: openTerminal({ out: sink('out'), err: sink('err') }, { color: false, env: {} }),
    now: () => time,
    signal: ctrlC.signal,
    cluster: () => Promise.resolve(cluster as CliCluster),
  } as unknown as CliContext;
  return {
    ...{ context, text, ctrlC, poolNames },
    change: (view: ClusterView, seconds = 0) => {
      time += seconds * 1000;
      tell(view);
    },
  };
}

const watching = (output: OutputFormat = 'table'): WatchOptions => ({ watch: true, output });

/** Lets the work reach its wait: it needs only some turns of the microtasks. */
async function settled<T>(work: Promise<T>): Promise<{ readonly end: Promise<T> }> {
  work.catch(() => undefined);
  await new Promise(setImmediate);
  return { end: work };
}

const watchNodes = (world: ReturnType<typeof given>, output?: OutputFormat, pool?: string) =>
  settled<ExitCode>(getNodes(world.context, watching(output), pool));

test('the list comes once, then each node that says something else, until Ctrl-C', async () => {
  const world = given(viewOf(aNode('n1', 'Done'), aNode('n2', 'Done')));
  const { end } = await watchNodes(world);
  expect(world.text.out.split('\n').map((line) => line.split(/ +/).slice(0, 3))).toEqual([
    ['NAME', 'POOL', 'STATE'],
    ['n1', 'worker', 'Done'],
    ['n2', 'worker', 'Done'],
    [''],
  ]);
  const before = world.text.out.length;

  world.change(viewOf(aNode('n1', 'Done', '7'), aNode('n2', 'Working')));
  expect(world.text.out.slice(before)).toMatch(/^n2 {5}worker {3}Working +no\n$/);

  world.ctrlC.abort();
  await expect(end).resolves.toBe(EXIT.OK);
});

test('json gives one object each, also for changes that no column shows', async () => {
  const world = given(viewOf(aNode('n1', 'Done', '1')));
  await watchNodes(world, 'json');
  world.change(viewOf(aNode('n1', 'Done', '2')));
  world.ctrlC.abort();

  const objects = world.text.out.split(/(?<=^}\n)/m).map((one) => JSON.parse(one) as Node);
  expect(objects.map(({ metadata }) => metadata.resourceVersion)).toEqual(['1', '2']);
});

test('a pool that only grew older is no news', async () => {
  const world = given(viewOf());
  await settled(getPools(world.context, watching()));
  const { out } = world.text;
  expect(out).toMatch(/10s\n$/);

  world.change(viewOf(), 60);
  expect(world.text.out).toBe(out);
  world.ctrlC.abort();
});

test('what only a column that is not shown says is no news', async () => {
  const failing = (reason: string): Node => {
    const node = aNode('n1', 'Degraded');
    const annotations = { ...node.metadata.annotations, [ANNOTATION.REASON]: reason };
    return { ...node, metadata: { ...node.metadata, annotations } };
  };
  const lines = async (output: OutputFormat): Promise<number> => {
    const world = given(viewOf(failing('disk full')));
    await watchNodes(world, output);
    world.change(viewOf(failing('no route to host')));
    world.ctrlC.abort();
    return world.text.out.split('\n').length - 1;
  };

  expect(await lines('table')).toBe(2);
  expect(await lines('wide')).toBe(3);
});

test('names deleted objects beside the data, and an empty list says so once', async () => {
  const world = given(viewOf());
  await watchNodes(world);
  expect(world.text).toEqual({ out: '', err: 'no nodes found\n' });

  world.change(viewOf(aNode('n1', 'Done')));
  world.change(viewOf());
  world.ctrlC.abort();
  expect(world.text.out).toMatch(/^NAME .*\nn1 .*\n$/);
  expect(world.text.err).toBe('no nodes found\nnode n1 is gone\n');
});

test('a pool that is deleted meanwhile ends the list of its nodes', async () => {
  const world = given(viewOf(aNode('n1', 'Done')));
  const { end } = await watchNodes(world, 'table', 'worker');
  world.change({ ...viewOf(aNode('n1', 'Done')), pools: [] });

  await expect(end).rejects.toMatchObject({ exitCode: EXIT.NOT_FOUND });
});

test('it ends by itself after the timeout', async () => {
  const world = given(viewOf(aNode('n1', 'Done')));
  const options = { ...watching(), timeoutSeconds: 0.01 };

  await expect(getNodes(world.context, options, undefined)).resolves.toBe(EXIT.OK);
});

test('an API server that goes away is named once, and once when it is back', async () => {
  jest.useFakeTimers({ doNotFake: ['setImmediate'] });
  try {
    const world = given(viewOf(aNode('n1', 'Done')));
    const { end } = await watchNodes(world);
    const away = cliError(EXIT.UNREACHABLE, 'the API server does not answer');
    world.poolNames.mockRejectedValueOnce(away).mockRejectedValueOnce(away);
    await jest.advanceTimersByTimeAsync(30_000);
    world.ctrlC.abort();
    await end;
    expect(world.text.err).toBe(
      'trying again: the API server does not answer\nthe API server answers again\n',
    );
  } finally {
    jest.useRealTimers();
  }
});

test('the wide table has the version of each host worker that has reported', async () => {
  const view = viewOf(aNode('n1', 'Done'), aNode('n2', 'Done'));
  const reported: MachineConfigNode = {
    metadata: { name: 'n1' },
    spec: { node: { name: 'n1' }, pool: { name: 'worker' }, configVersion: { desired: 'r' } },
    status: { hostWorker: { version: '1.2.3' } },
  };
  const { context, text } = given({ ...view, machineConfigNodes: new Map([['n1', reported]]) });

  await getNodes(context, { watch: false, output: 'wide' }, undefined);

  const [header, ...lines] = text.out.trimEnd().split('\n');
  expect(header).toContain('HOSTWORKER');
  expect(lines.map((line) => line.includes('1.2.3'))).toEqual([true, false]);
});

test('nodes that no pool takes are told, with the command that labels each', async () => {
  const bare = (name: string): Node => ({ metadata: { name } });
  const many = Array.from({ length: 11 }, (_, index) => bare(`x${index}`));
  const { context, text } = given(viewOf(aNode('n1', 'Done'), ...many));

  await getNodes(context, { watch: false, output: 'table' }, undefined);

  const lines = text.err.trimEnd().split('\n');
  expect(lines[0]).toBe('in no pool, so that they get no config: 11 of 12');
  expect(lines[1]).toBe('  x0: kubectl label node x0 node-role.kubernetes.io/worker=');
  expect(lines.slice(10)).toEqual([expect.stringContaining('x9'), '  and 1 more']);
});

test.each([
  ['all nodes are in pools', viewOf(aNode('n1', 'Done')), undefined],
  [
    'the nodes of one pool are asked for',
    viewOf(aNode('n1', 'Done'), { metadata: { name: 'x' } }),
    'worker',
  ],
])('nothing is told where %s', async (_what, view, pool) => {
  const { context, text } = given(view);

  await getNodes(context, { watch: false, output: 'table' }, pool);

  expect(text.err).toBe('');
});
