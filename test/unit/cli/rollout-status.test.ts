import { rolloutStatus } from '../../../cli/commands/rollout-status';
import { cliError, EXIT, type ExitCode } from '../../../cli/exit-codes';
import type {
  CliCluster,
  CliContext,
  CliTemporal,
  ClusterView,
  OpenRollout,
  PausedInTemporal,
} from '../../../cli/ports';
import { openTerminal } from '../../../cli/terminal';
import { fail } from '../../../core/errors';
import { ANNOTATION } from '../../../core/names';
import { markOf } from '../../../core/node/turn';
import type { Node } from '../../../core/node/types';
import type { MachineConfigPool } from '../../../core/pool/types';
import type { OpenUpdate } from '../../../core/rollout/picture';
import type { Grant } from '../../../core/rollout/pool-rollout';
import type { RolloutState } from '../../../core/rollout/progress';
import { aPoolRollout, aView, NO_DOCTOR, NO_STREAMS, NO_SUPPORT } from './cluster-view';

const POOL: MachineConfigPool = {
  metadata: { name: 'worker' },
  spec: {
    configuration: { name: 'rendered-worker-1' },
    nodeSelector: { matchLabels: { role: 'worker' } },
  },
};
/** One node that is not on the config, so that a rollout that is over has left something. */
const NODE: Node = {
  metadata: { name: 'w1', labels: { role: 'worker' }, annotations: {} },
  status: { conditions: [{ type: 'Ready', status: 'True' }] },
};

function aRollout(state: RolloutState, grants: readonly Grant[] = []): ClusterView {
  const written = aPoolRollout({ config: 'rendered-worker-1', state, grants });
  return aView({ pools: [POOL], nodes: [NODE], poolRollouts: new Map([['worker', written]]) });
}

const VIEW = aRollout('Rolling');
const OVER = aView({ pools: [POOL] });
const OPEN: OpenRollout = { runId: 'rollout-1' };

type Answer = OpenRollout | PausedInTemporal | undefined;

/** A cluster that the test changes, and a rollout with these answers or errors. */
function given(
  answers: readonly (Answer | Error)[],
  view: ClusterView = VIEW,
  updates: readonly OpenUpdate[] = [],
) {
  const left = [...answers];
  const text = { out: '', err: '' };
  const sink = (to: 'out' | 'err') => ({
    write: (more: string) => {
      text[to] += more;
    },
  });
  const ctrlC = new AbortController();
  let onChange: (view: ClusterView) => void = () => undefined;
  const poolNames = jest.fn(() => Promise.resolve<readonly string[]>(['worker']));
  const cluster: Partial<CliCluster> = {
    read: () => Promise.resolve(view),
    poolNames,
    follow: (tell, signal) =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () => resolve());
        onChange = tell;
        onChange(view);
      }),
  };
  const openRollout = jest.fn(async () => {
    const answer = left.length > 1 ? left.shift() : left[0];
    if (answer instanceof Error) throw answer;
    return answer;
  });
  const steps = jest.fn((_nodes: readonly string[]) => Promise.resolve(new Map()));
  const openUpdates = () => Promise.resolve(updates);
  const temporal: Partial<CliTemporal> = { steps, openRollout, openUpdates };
  const context: CliContext = {
    terminal: openTerminal({ out: sink('out'), err: sink('err') }, { color: false, env: {} }),
    now: () => 0,
    signal: ctrlC.signal,
    user: () => Promise.resolve(undefined),
    cluster: () => Promise.resolve(cluster as CliCluster),
    temporal: () => Promise.resolve(temporal as CliTemporal),
    temporalSetup: () => Promise.reject(new Error('nobody sets up')),
    doctor: NO_DOCTOR,
    support: NO_SUPPORT,
    streams: NO_STREAMS,
  };
  return {
    context,
    text,
    poolNames,
    openRollout,
    steps,
    ctrlC,
    change: (view: ClusterView) => onChange(view),
  };
}

const away = (who: string) => cliError(EXIT.UNREACHABLE, `${who} does not answer`);

function watch({ context }: { context: CliContext }, timeoutSeconds?: number): Promise<ExitCode> {
  const bound = timeoutSeconds === undefined ? {} : { timeoutSeconds };
  const watching = rolloutStatus(context, 'worker', { watch: true, output: 'table', ...bound });
  // Awaited later: a failure must not count as unhandled until then.
  watching.catch(() => undefined);
  return watching;
}

const count = (text: string, part: string): number => text.split(part).length - 1;

it('asks the updates that have a grant what they do, then those that began first', async () => {
  const names = Array.from({ length: 30 }, (_, index) => `w${index}`);
  const nodes = names.map((name) => ({ ...NODE, metadata: { ...NODE.metadata, name, uid: name } }));
  const run = { id: 'r1', startedAt: '2026-01-01T00:00:00Z' };
  const taken: Node = {
    ...NODE,
    metadata: {
      ...NODE.metadata,
      name: 'taken',
      annotations: { [ANNOTATION.UPDATE_RUN]: markOf(run) },
    },
  };
  const newestFirst = names.map((node) => ({ node, run: node, config: 'rendered-worker-1' }));
  const view = { ...VIEW, nodes: [...nodes, taken] };
  const { context, steps } = given([OPEN], view, newestFirst);

  await rolloutStatus(context, 'worker', { watch: false, output: 'table' });

  const [asked = []] = steps.mock.calls[0] ?? [];
  expect(asked).toHaveLength(20);
  expect(asked.slice(0, 3)).toEqual(['taken', 'w29', 'w28']);
});

describe('rollout status --watch', () => {
  beforeEach(() => {
    jest.useFakeTimers();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  test.each([
    ['ends', undefined, OVER, EXIT.OK],
    ['halts', OPEN, aRollout('Halted'), EXIT.FAILED],
  ])('notices that the rollout %s', async (_how, last, view, code) => {
    const world = given([OPEN, OPEN, last]);
    const watching = watch(world);
    await jest.advanceTimersByTimeAsync(3_000);
    world.change(view);
    await jest.advanceTimersByTimeAsync(10_000);
    await expect(watching).resolves.toBe(code);
  });

  it('notices that the rollout was paused in Temporal although the cluster does not change', async () => {
    const world = given([OPEN, OPEN, { pausedInTemporal: 'paused by ana' }]);
    const watching = watch(world);
    await jest.advanceTimersByTimeAsync(10_000);
    expect(world.text.out).toContain('worker Paused rendered-worker-1 paused by ana');
    world.ctrlC.abort();
    await expect(watching).resolves.toBe(EXIT.OK);
  });

  it('goes on when nobody answers for the rollout for a while, and says so once', async () => {
    const world = given([OPEN, away('Temporal'), away('Temporal'), away('Temporal'), OPEN]);
    const watching = watch(world);
    await jest.advanceTimersByTimeAsync(5_000);
    expect(count(world.text.err, 'trying again: Temporal does not answer')).toBe(1);
    expect(world.text.err).not.toContain('answers again');

    await jest.advanceTimersByTimeAsync(15_000);
    world.ctrlC.abort();
    await expect(watching).resolves.toBe(EXIT.OK);
    expect(count(world.text.err, 'trying again')).toBe(1);
    expect(count(world.text.err, 'every server answers again')).toBe(1);
  });

  it('shows on a terminal which server does not answer, below the tree', async () => {
    const world = given([OPEN, away('Temporal')]);
    const watching = watch({
      context: { ...world.context, terminal: { ...world.context.terminal, live: true } },
    });
    await jest.advanceTimersByTimeAsync(3_000);
    world.ctrlC.abort();
    await expect(watching).resolves.toBe(EXIT.OK);

    const last = world.text.out.split('worker  ').at(-1);
    expect(last).toContain('trying again: Temporal does not answer');
    expect(world.text.err).not.toContain('trying again');
  });

  it('says once that the API server is away, although its watch is only silent', async () => {
    const world = given([OPEN]);
    const gone = fail('ApiUnavailable', 'the Kubernetes API at https://k does not answer');
    world.poolNames.mockRejectedValueOnce(gone).mockRejectedValueOnce(gone);
    const watching = watch(world);
    await jest.advanceTimersByTimeAsync(11_000);
    expect(count(world.text.err, 'https://k does not answer')).toBe(1);
    await jest.advanceTimersByTimeAsync(5_000);
    expect(count(world.text.err, 'answers again')).toBe(1);
    world.ctrlC.abort();
    await expect(watching).resolves.toBe(EXIT.OK);
  });

  it('outlives an API server that has not loaded its roles yet', async () => {
    const world = given([OPEN]);
    world.poolNames.mockRejectedValueOnce(fail('ApiForbidden', 'list pools: forbidden'));
    const watching = watch(world);
    await jest.advanceTimersByTimeAsync(11_000);
    expect(world.text.err).toContain('answers again');
    world.ctrlC.abort();
    await expect(watching).resolves.toBe(EXIT.OK);
  });

  it.each([
    ['rolls', () => OPEN],
    ['is not answered for', () => away('Temporal')],
    ['is asked about in vain', () => new Promise<never>(() => undefined)],
  ])('detaches at Ctrl-C while the rollout %s', async (_how, answer) => {
    const world = given([OPEN]);
    const watching = watch(world);
    await jest.advanceTimersByTimeAsync(0);
    world.openRollout.mockImplementation(async () => {
      const value = await answer();
      if (value instanceof Error) throw value;
      return value;
    });
    await jest.advanceTimersByTimeAsync(5_000);
    world.ctrlC.abort();
    await jest.advanceTimersByTimeAsync(0);
    await expect(watching).resolves.toBe(EXIT.OK);
    expect(world.text.err).toContain('detached; the rollout of pool worker goes on\n');
  });

  it('detaches at Ctrl-C before there was a first answer', async () => {
    const world = given([]);
    world.openRollout.mockImplementation(() => new Promise<never>(() => undefined));
    const watching = watch(world);
    await jest.advanceTimersByTimeAsync(4_000);
    expect(world.text.err).toContain('waiting for a cluster worker to answer');
    world.ctrlC.abort();
    await expect(watching).resolves.toBe(EXIT.OK);
    expect(world.text.err).toContain('detached');
  });

  it('ends with a sentence when the pool is deleted, whoever answers', async () => {
    const world = given([OPEN, away('Temporal')]);
    const watching = watch(world);
    await jest.advanceTimersByTimeAsync(3_000);
    world.change({ ...VIEW, pools: [] });
    await jest.advanceTimersByTimeAsync(3_000);
    await expect(watching).rejects.toMatchObject({
      exitCode: EXIT.NOT_FOUND,
      message: expect.stringContaining('pool worker was deleted') as unknown,
    });
  });

  it('ends with what no waiting fixes', async () => {
    const world = given([OPEN, cliError(EXIT.USAGE, 'no such namespace')]);
    const watching = watch(world);
    await jest.advanceTimersByTimeAsync(3_000);
    await expect(watching).rejects.toMatchObject({ exitCode: EXIT.USAGE });
  });

  it('names the server that does not answer when its time is over', async () => {
    const watching = watch(given([OPEN, away('Temporal')]), 7);
    await jest.advanceTimersByTimeAsync(8_000);
    await expect(watching).rejects.toMatchObject({
      exitCode: EXIT.TIMED_OUT,
      message: expect.stringContaining('; Temporal does not answer') as unknown,
    });
  });
});

describe('rollout status', () => {
  it('is not watched while Temporal is away at first', async () => {
    const { context } = given([away('Temporal')]);

    await expect(
      rolloutStatus(context, 'worker', { watch: true, output: 'table' }),
    ).rejects.toMatchObject({ exitCode: EXIT.UNREACHABLE });
  });

  it('says what the cluster shows while Temporal is away', async () => {
    const { context, text } = given([away('Temporal')]);

    await expect(rolloutStatus(context, 'worker', { watch: false, output: 'table' })).resolves.toBe(
      EXIT.UNREACHABLE,
    );
    expect(text.out).toContain('the rollout does not look at its pool: Temporal does not answer');
  });

  it('says that the rollout is paused in Temporal', async () => {
    const sentence = 'pool-rollout/worker is paused in Temporal by ana';
    const { context, text } = given([{ pausedInTemporal: sentence }]);

    await expect(rolloutStatus(context, 'worker', { watch: false, output: 'table' })).resolves.toBe(
      EXIT.PAUSED,
    );

    expect(text.out).toContain('Paused');
    expect(text.out).toContain(sentence);
  });
});
