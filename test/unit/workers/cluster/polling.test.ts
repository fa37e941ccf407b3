/** The workers of the cluster worker, at a Temporal of functions. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PayloadCodec } from '@temporalio/common';
import type { NativeConnection } from '@temporalio/worker';
import { createLogger } from '../../../../process/logging';
import type { TemporalConnection } from '../../../../process/temporal/connection';
import { pollUntilAborted } from '../../../../workers/cluster/polling';
import type { ClusterWorkerSettings } from '../../../../workers/cluster/settings';

const happened: string[] = [];

jest.mock('@temporalio/worker', () => ({
  ...jest.requireActual<object>('@temporalio/worker'),
  Worker: {
    create: async ({ taskQueue }: { readonly taskQueue: string }) => {
      happened.push(`worker of ${taskQueue}`);
      return { nativeWorker: {}, run: async () => undefined, getState: () => 'STOPPED' };
    },
  },
}));

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'slipway-polling-'));
  writeFileSync(join(directory, 'bundle.js'), '');
});
afterEach(() => rmSync(directory, { recursive: true }));

// The SDK's worker starts a thread before it asks for its namespace, and leaves it behind.
test('no worker begins before Temporal lets it ask for its namespace', async () => {
  const stop = new AbortController();
  const refusals = ['request unauthorized'];
  const describeNamespace = async (): Promise<void> => {
    const refusal = refusals.shift();
    happened.push(refusal ?? 'answered');
    if (refusal !== undefined) throw new Error(refusal);
  };
  const connection = { workflowService: { describeNamespace } };
  const codec = {} as unknown as PayloadCodec;

  await pollUntilAborted(
    {
      ...{ temporalAddress: 'temporal:7233', temporalNamespace: 'slipway' },
      ...{ workflowBundle: join(directory, 'bundle.js'), shutdownGraceSeconds: 1 },
    } as unknown as ClusterWorkerSettings,
    {
      link: {
        connection,
        untilSetUp: async () => undefined,
        follow: () => () => undefined,
      } as unknown as TemporalConnection<NativeConnection>,
      ...{ activities: {}, stepActivities: {}, signing: codec, converter: {}, identity: 'test' },
      log: createLogger({ process: 'test', level: 'silent' }),
      signal: stop.signal,
      waitingFor: new Set(),
      onReady: () => stop.abort(),
    },
  );

  expect(happened).toEqual([
    'request unauthorized',
    'answered',
    'worker of slipway',
    expect.stringMatching(/^worker of /),
  ]);
});
