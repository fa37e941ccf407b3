import { Writable } from 'node:stream';
import { rolloutStatus } from '../../../cli/commands/rollout-status';
import { EXIT } from '../../../cli/exit-codes';
import type { CliCluster, CliContext, CliTemporal, ClusterView } from '../../../cli/ports';
import { openTerminal } from '../../../cli/terminal';
import type { MachineConfigPool } from '../../../core/pool/types';
import type { RolloutProgress, RolloutState } from '../../../workflows/messages';

const POOL: MachineConfigPool = {
  metadata: { name: 'worker' },
  spec: {
    configuration: { name: 'rendered-worker-1' },
    nodeSelector: { matchLabels: { role: 'worker' } },
  },
};
const VIEW: ClusterView = { pools: [POOL], nodes: [], machineConfigNodes: new Map(), policies: [] };

function progress(state: RolloutState): RolloutProgress {
  return {
    pool: 'worker',
    config: 'rendered-worker-1',
    state,
    maxUnavailable: 1,
    machineCount: 0,
    updated: 0,
    slots: [],
    children: [],
    failed: [],
    held: [],
    blocked: [],
    waitingCount: 0,
    startedAt: '2026-01-01T00:00:00Z',
    reports: [],
  };
}

/** A cluster that shows itself once and never changes, and a rollout that gives these answers. */
function contextWith(answers: readonly (RolloutProgress | undefined)[]): CliContext {
  const left = [...answers];
  const discard = new Writable({ write: (_chunk, _encoding, done) => done() });
  const streams = { out: discard, err: discard } as unknown as Parameters<typeof openTerminal>[0];
  const cluster: Pick<CliCluster, 'read' | 'follow'> = {
    read: () => Promise.resolve(VIEW),
    follow: (onChange, signal) =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () => resolve());
        onChange(VIEW);
      }),
  };
  const temporal: Pick<CliTemporal, 'progress'> = {
    progress: () => Promise.resolve(left.length > 1 ? left.shift() : left[0]),
  };
  return {
    terminal: openTerminal(streams, { color: false, env: {} }),
    now: () => 0,
    signal: new AbortController().signal,
    user: undefined,
    cluster: () => Promise.resolve(cluster as CliCluster),
    temporal: () => Promise.resolve(temporal as CliTemporal),
  };
}

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
      const context = contextWith([progress('Rolling'), progress('Rolling'), last]);
      const watching = rolloutStatus(context, 'worker', { watch: true, output: 'table' });
      await jest.advanceTimersByTimeAsync(10_000);
      await expect(watching).resolves.toBe(code);
    },
    5_000,
  );
});
