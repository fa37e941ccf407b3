import { DeterminismViolationError } from '@temporalio/workflow';
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { poolRolloutId, updateNodeId } from '../../core/names';
import { repositoryRoot } from '../../tools/repository-root';
import { workflowBundle } from '../workflow/support/bundle';

const HISTORIES = join(repositoryRoot(), 'test', 'histories');
const recorded = readdirSync(HISTORIES).filter((name) => name.endsWith('.json'));

jest.setTimeout(60_000);

interface RecordedEvent {
  workflowExecutionStartedEventAttributes?: { input: { payloads: readonly { data: string }[] } };
  startChildWorkflowExecutionInitiatedEventAttributes?: { workflowId: string };
  activityTaskScheduledEventAttributes?: { activityType: { name: string } };
}

let codePath: string;
beforeAll(async () => {
  Runtime.install({
    logger: new DefaultLogger('ERROR'),
    telemetryOptions: { logging: { filter: { core: 'ERROR', other: 'ERROR' } } },
  });
  codePath = await workflowBundle();
}, 60_000);
afterAll(() => Runtime.instance().shutdown());

async function historyOf(file: string): Promise<{ events: RecordedEvent[] }> {
  return JSON.parse(await readFile(join(HISTORIES, file), 'utf8')) as { events: RecordedEvent[] };
}

/** Under the workflow ID that the recorded input belongs to: both workflows insist on it. */
async function replay(history: { events: readonly RecordedEvent[] }): Promise<void> {
  const started = history.events[0]?.workflowExecutionStartedEventAttributes;
  const data = started?.input.payloads[0]?.data ?? '';
  const input = JSON.parse(Buffer.from(data, 'base64').toString('utf8')) as {
    pool: string;
    node?: string;
  };
  const workflowId =
    input.node === undefined ? poolRolloutId(input.pool) : updateNodeId(input.node);
  await Worker.runReplayHistory({ workflowBundle: { codePath } }, history, workflowId);
}

describe('recorded histories', () => {
  it('cover both workflows', () => {
    expect(recorded.filter((name) => name.startsWith('update-node.')).length).toBeGreaterThan(5);
    expect(recorded.filter((name) => name.startsWith('pool-rollout.')).length).toBeGreaterThan(5);
  });

  it.each(recorded)('%s replays without a difference', async (file) => {
    const history = await historyOf(file);

    await expect(replay(history)).resolves.toBeUndefined();
  });

  it('would show a difference: a history with another activity is refused', async () => {
    const file = recorded.find((name) => name.startsWith('update-node.reboot.')) ?? '';
    const history = await historyOf(file);
    const scheduled = history.events.find(
      ({ activityTaskScheduledEventAttributes: attributes }) =>
        attributes?.activityType.name === 'drainNode',
    );
    if (scheduled?.activityTaskScheduledEventAttributes !== undefined) {
      scheduled.activityTaskScheduledEventAttributes.activityType.name = 'applyUpdate';
    }

    await expect(replay(history)).rejects.toBeInstanceOf(DeterminismViolationError);
  });

  it('would show a difference: a history with another child is refused', async () => {
    const file = recorded.find((name) => name.startsWith('pool-rollout.completed.')) ?? '';
    const history = await historyOf(file);
    const child = history.events.find(
      (event) => event.startChildWorkflowExecutionInitiatedEventAttributes !== undefined,
    );
    if (child?.startChildWorkflowExecutionInitiatedEventAttributes !== undefined) {
      child.startChildWorkflowExecutionInitiatedEventAttributes.workflowId = updateNodeId('other');
    }

    await expect(replay(history)).rejects.toBeInstanceOf(DeterminismViolationError);
  });
});
