/** Every run of a workflow can go on from its history: real runs are recorded, and replayed. */

import type { WorkflowHandle } from '@temporalio/client';
import { historyToJSON } from '@temporalio/common/lib/proto-utils';
import { Worker } from '@temporalio/worker';
import { DeterminismViolationError } from '@temporalio/workflow';
import { readFile } from 'node:fs/promises';
import { poolRolloutId, updateNodeId } from '../../core/names';
import { isEnd, NodePhase } from '../../core/node/lifecycle';
import { forbiddenStep } from '../support/forbidden-step';
import { workflowBundle } from '../workflow/support/bundle';
import { startTestTemporal } from '../workflow/support/temporal';
import { STORIES, type TestServers } from './stories';

jest.setTimeout(120_000);

interface RecordedEvent {
  readonly eventId?: string;
  readonly eventType?: string;
  readonly userMetadata?: { readonly summary?: { readonly data: string } };
  readonly markerRecordedEventAttributes?: { readonly markerName: string };
  workflowExecutionStartedEventAttributes?: { input: { payloads: readonly { data: string }[] } };
  activityTaskScheduledEventAttributes?: { activityType: { name: string } };
}

/** The phases of an update, with its end, as its page in the Temporal UI shows them. */
async function lifeOf(update: WorkflowHandle): Promise<readonly NodePhase[]> {
  const { currentDetails } = await update.query<{ readonly currentDetails: string }>(
    '__temporal_workflow_metadata',
  );
  const rows = currentDetails.split('\n').flatMap((line) => /^\| \W*(\w+)\W* \|/.exec(line) ?? []);
  return rows.filter((cell) => Object.values<string>(NodePhase).includes(cell)) as NodePhase[];
}

function decoded(data: string): unknown {
  return JSON.parse(Buffer.from(data, 'base64').toString('utf8'));
}

/** A person sees these as steps. Changes of search attributes have no place for a summary. */
const STEPS: readonly string[] = ['EVENT_TYPE_ACTIVITY_TASK_SCHEDULED', 'EVENT_TYPE_TIMER_STARTED'];
const LOCAL_ACTIVITY = 'core_local_activity';
/** The server takes no longer one, with the payload around the text. */
const SUMMARY_BYTES = 400;

function isStep({ eventType = '', markerRecordedEventAttributes: marker }: RecordedEvent): boolean {
  return STEPS.includes(eventType) || marker?.markerName === LOCAL_ACTIVITY;
}

/** The step's sentence; undefined when it has none that can be shown. */
function summaryOf({ userMetadata }: RecordedEvent): string | undefined {
  const data = userMetadata?.summary?.data;
  const summary = data === undefined ? undefined : decoded(data);
  return typeof summary === 'string' && summary.trim() !== '' ? summary : undefined;
}

interface History {
  readonly events: RecordedEvent[];
}

let servers: TestServers;
let codePath: string;
/** Of the stories that were told, by their names. */
const recorded = new Map<string, string>();
beforeAll(async () => {
  codePath = await workflowBundle();
  const [temporal, newRuns] = await Promise.all([
    startTestTemporal(),
    startTestTemporal({ dynamicConfig: { 'limit.historyCount.suggestContinueAsNew': 20 } }),
  ]);
  servers = { temporal, newRuns };
}, 240_000);
afterAll(async () => {
  await servers.temporal.stop();
  await servers.newRuns.stop();
}, 60_000);

async function record(name: string, handle: WorkflowHandle): Promise<History> {
  recorded.set(name, historyToJSON(await handle.fetchHistory()));
  return historyOf(name);
}

function historyOf(name: string): History {
  const json = recorded.get(name);
  if (json === undefined) throw new Error(`nobody has told ${name}: run all tests of this file`);
  return JSON.parse(json) as History;
}

/**
 * Under the workflow ID that the recorded input belongs to: both workflows insist on it.
 *
 * @param code - of the workflows; default: as they are shipped
 */
async function replay(history: History, code?: string): Promise<void> {
  const started = history.events[0]?.workflowExecutionStartedEventAttributes;
  const data = started?.input.payloads[0]?.data ?? '';
  const input = decoded(data) as { pool: string; node?: string };
  const workflowId =
    input.node === undefined ? poolRolloutId(input.pool) : updateNodeId(input.node);
  const workflowBundle = code === undefined ? { codePath } : { code };
  await Worker.runReplayHistory({ workflowBundle }, history, workflowId);
}

interface PlantedChange {
  readonly change: string;
  /** In the bundle as it is shipped, where the names of activities and workflows stay what they are. */
  readonly find: RegExp;
  readonly replacement: string;
  /** History that has the path. */
  readonly history: string;
}

const PLANTED: readonly PlantedChange[] = [
  {
    change: 'another activity in the place of one',
    find: /\.drainNode\.executeWithOptions\(/g,
    replacement: '.awaitReturn.executeWithOptions(',
    history: 'update-node.reboot',
  },
  {
    change: 'a step that is left out',
    // Bounded: the source map at the end is one word of a million letters.
    find: /\b\w{1,3}\.applyUpdate\.executeWithOptions\(/g,
    replacement: 'Promise.resolve(',
    history: 'update-node.restart',
  },
  {
    change: 'a start that is not written down',
    find: /\.writeWord\.executeWithOptions\(/g,
    replacement: '.step.executeWithOptions(',
    history: 'pool-rollout.completed',
  },
];

async function planted({ find, replacement }: PlantedChange): Promise<string> {
  const shipped = await readFile(codePath, 'utf8');
  const changed = shipped.replaceAll(find, replacement);
  if (changed === shipped) throw new Error(`the bundle has nothing like ${String(find)}`);
  return changed;
}

describe.each(STORIES)('the history of %s', (_name, tell) => {
  it('replays without a difference, keeps to the lifecycle and has a summary for every step', async () => {
    for (const [name, handle] of Object.entries(await tell(servers))) {
      const history = await record(name, handle);
      await expect(replay(history)).resolves.toBeUndefined();
      if (name.startsWith('update-node.')) expectLife(await lifeOf(handle));
      expectSummaries(history);
    }
  });
});

function expectLife(phases: readonly NodePhase[]): void {
  expect(phases[0]).toBe('Preparing');
  expect(isEnd(phases.at(-1) ?? 'Preparing')).toBe(true);
  expect(forbiddenStep(phases)).toBeUndefined();
}

function expectSummaries({ events }: History): void {
  const steps = events.filter(isStep);
  expect(steps).not.toEqual([]);
  for (const step of steps) {
    const { eventId, eventType } = step;
    const summary = summaryOf(step);
    expect({ eventId, eventType, summary }).toEqual({
      ...{ eventId, eventType },
      summary: expect.any(String) as string,
    });
    expect(Buffer.byteLength(JSON.stringify(summary))).toBeLessThan(SUMMARY_BYTES);
  }
}

describe('a difference would be shown:', () => {
  it.each([
    ['update-node.reboot', 'drainNode', 'applyUpdate'],
    ['pool-rollout.completed', 'step', 'writeWord'],
  ])('another activity in the history %s', async (name, from, to) => {
    const history = historyOf(name);
    const scheduled = history.events.find(
      ({ activityTaskScheduledEventAttributes: attributes }) =>
        attributes?.activityType.name === from,
    )?.activityTaskScheduledEventAttributes;
    if (scheduled === undefined) throw new Error(`${name} has no ${from}`);
    scheduled.activityType.name = to;

    await expect(replay(history)).rejects.toBeInstanceOf(DeterminismViolationError);
  });

  it.each(PLANTED)('$change in the code', async (plant) => {
    const code = await planted(plant);

    await expect(replay(historyOf(plant.history), code)).rejects.toBeInstanceOf(
      DeterminismViolationError,
    );
  });
});
