import { rolloutStatus } from '../../../cli/commands/rollout-status';
import { cliError, EXIT, type ExitCode } from '../../../cli/exit-codes';
import type {
  CliCluster,
  CliContext,
  CliTemporal,
  ClusterView,
  PausedInTemporal,
} from '../../../cli/ports';
import { openTerminal } from '../../../cli/terminal';
import { fail } from '../../../core/errors';
import type { MachineConfigPool } from '../../../core/pool/types';
import type { RolloutProgress, RolloutState } from '../../../workflows/messages';
import { aProgress } from './rollout-progress';

const POOL: MachineConfigPool = {
  metadata: { name: 'worker' },
  spec: {
    configuration: { name: 'rendered-worker-1' },
    nodeSelector: { matchLabels: { role: 'worker' } },
  },
};
const VIEW: ClusterView = { pools: [POOL], nodes: [], machineConfigNodes: new Map(), policies: [] };

function progress(state: RolloutState): RolloutProgress {
  return aProgress({ config: 'rendered-worker-1', state, machineCount: 0 });
}

type Answer = RolloutProgress | PausedInTemporal | undefined;

/** A cluster that the test changes, and a rollout with these answers or errors. */
function given(answers: readonly (Answer | Error)[]) {
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
    read: () => Promise.resolve(VIEW),
    poolNames,
    follow: (tell, signal) =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () => resolve());
        onChange = tell;
        onChange(VIEW);
      }),
  };
  const progress = jest.fn(async () => {
    const answer = left.length > 1 ? left.shift() : left[0];
    if (answer instanceof Error) throw answer;
    return answer;
  });
  const steps = jest.fn((_nodes: readonly string[]) => Promise.resolve(new Map()));
  const temporal: Partial<CliTemporal> = { steps, progress };
  const context: CliContext = {
    terminal: openTerminal({ out: sink('out'), err: sink('err') }, { color: false, env: {} }),
    now: () => 0,
    signal: ctrlC.signal,
    user: undefined,
    cluster: () => Promise.resolve(cluster as CliCluster),
    temporal: () => Promise.resolve(temporal as CliTemporal),
    temporalSetup: () => Promise.reject(new Error('nobody sets up')),
  };
  return {
    context,
    text,
    poolNames,
    progress,
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

it('asks those updates what they do that have been at it for longest', async () => {
  const children = Array.from({ length: 30 }, (_, index) => ({
    ...{ node: `w${index}`, config: 'rendered-worker-1', holdsSlot: false },
    stage: 'preparing' as const,
    since: new Date(Date.UTC(2026, 0, 1) - index * 1000).toISOString(),
  }));
  const { context, steps } = given([{ ...progress('Rolling'), children }]);

  await rolloutStatus(context, 'worker', { watch: false, output: 'table' });

  const [asked] = steps.mock.calls[0] ?? [];
  expect(asked).toHaveLength(20);
  expect(asked).toEqual(expect.arrayContaining(['w29', 'w10']));
});

describe('rollout status --watch', () => {
  beforeEach(() => {
    jest.useFakeTimers();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  test.each([
    ['ends', undefined, EXIT.OK],
    ['halts', progress('Halted'), EXIT.FAILED],
  ])(
    'notices that the rollout %s although the cluster does not change',
    async (_how, last, code) => {
      const watching = watch(given([progress('Rolling'), progress('Rolling'), last]));
      await jest.advanceTimersByTimeAsync(10_000);
      await expect(watching).resolves.toBe(code);
    },
    5_000,
  );

  it('goes on when nobody answers for the rollout for a while, and says so once', async () => {
    const world = given([
      progress('Rolling'),
      away('Temporal'),
      away('Temporal'),
      away('Temporal'),
      progress('Rolling'),
      undefined,
    ]);
    const watching = watch(world);
    await jest.advanceTimersByTimeAsync(5_000);
    expect(count(world.text.err, 'trying again: Temporal does not answer')).toBe(1);
    expect(world.text.err).not.toContain('answers again');

    await jest.advanceTimersByTimeAsync(15_000);
    await expect(watching).resolves.toBe(EXIT.OK);
    expect(count(world.text.err, 'trying again')).toBe(1);
    expect(count(world.text.err, 'every server answers again')).toBe(1);
  });

  it('shows on a terminal which server does not answer, below the tree', async () => {
    const world = given([progress('Rolling'), away('Temporal')]);
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
    const world = given([progress('Rolling')]);
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
    const world = given([progress('Rolling')]);
    world.poolNames.mockRejectedValueOnce(fail('ApiForbidden', 'list pools: forbidden'));
    const watching = watch(world);
    await jest.advanceTimersByTimeAsync(11_000);
    expect(world.text.err).toContain('answers again');
    world.ctrlC.abort();
    await expect(watching).resolves.toBe(EXIT.OK);
  });

  it.each([
    ['rolls', () => progress('Rolling')],
    ['is not answered for', () => away('Temporal')],
    ['is asked about in vain', () => new Promise<never>(() => undefined)],
  ])('detaches at Ctrl-C while the rollout %s', async (_how, answer) => {
    const world = given([progress('Rolling')]);
    const watching = watch(world);
    await jest.advanceTimersByTimeAsync(0);
    world.progress.mockImplementation(async () => {
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
    world.progress.mockImplementation(() => new Promise<never>(() => undefined));
    const watching = watch(world);
    await jest.advanceTimersByTimeAsync(4_000);
    expect(world.text.err).toContain('waiting for a cluster worker to answer');
    world.ctrlC.abort();
    await expect(watching).resolves.toBe(EXIT.OK);
    expect(world.text.err).toContain('detached');
  });

  it('ends with a sentence when the pool is deleted, whoever answers', async () => {
    const world = given([progress('Rolling'), away('Temporal')]);
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
    const world = given([progress('Rolling'), cliError(EXIT.USAGE, 'no such namespace')]);
    const watching = watch(world);
    await jest.advanceTimersByTimeAsync(3_000);
    await expect(watching).rejects.toMatchObject({ exitCode: EXIT.USAGE });
  });

  it('names the server that does not answer when its time is over', async () => {
    const watching = watch(given([progress('Rolling'), away('Temporal')]), 7);
    await jest.advanceTimersByTimeAsync(8_000);
    await expect(watching).rejects.toMatchObject({
      exitCode: EXIT.TIMED_OUT,
      message: expect.stringContaining('; Temporal does not answer') as unknown,
    });
  });
});

describe('rollout status', () => {
  it('is not to be had at first from a control plane that is away', async () => {
    const { context } = given([away('Temporal')]);
    for (const isWatched of [false, true]) {
      await expect(
        rolloutStatus(context, 'worker', { watch: isWatched, output: 'table' }),
      ).rejects.toMatchObject({ exitCode: EXIT.UNREACHABLE });
    }
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
