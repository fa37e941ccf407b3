import { DeterminismViolationError } from '@temporalio/workflow';
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { poolRolloutId, updateNodeId } from '../../core/names';
import { forbiddenStep, type NodePhase } from '../../core/node/lifecycle';
import { frozenHistories, packedVersions } from '../../tools/release/packed-build';
import { repositoryRoot } from '../../tools/repository-root';
import { nodeFinishedSignal, type NodeReport, type UpdateOutcome } from '../../workflows/messages';
import { workflowBundle } from '../workflow/support/bundle';

const HISTORIES = join(repositoryRoot(), 'test', 'histories');
/** One folder per version that recorded them. */
const versions = readdirSync(HISTORIES, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);
const recorded = versions.flatMap(historiesOf);

function historiesOf(version: string): readonly string[] {
  return readdirSync(join(HISTORIES, version)).map((name) => join(version, name));
}

jest.setTimeout(120_000);

interface RecordedEvent {
  readonly eventId?: string;
  readonly eventType?: string;
  readonly userMetadata?: { readonly summary?: { readonly data: string } };
  readonly markerRecordedEventAttributes?: { readonly markerName: string };
  workflowExecutionStartedEventAttributes?: { input: { payloads: readonly { data: string }[] } };
  startChildWorkflowExecutionInitiatedEventAttributes?: { workflowId: string };
  activityTaskScheduledEventAttributes?: { activityType: { name: string } };
  workflowExecutionSignaledEventAttributes?: SentSignal;
  signalExternalWorkflowExecutionInitiatedEventAttributes?: SentSignal;
}

interface SentSignal {
  readonly signalName: string;
  readonly input?: { readonly payloads: readonly { readonly data: string }[] };
}

const END: Readonly<Record<UpdateOutcome, NodePhase>> = {
  updated: 'Updated',
  failed: 'Degraded',
  cancelled: 'Cancelled',
};

/** The phases of every update that a history tells of, with its end. */
function livesIn(events: readonly RecordedEvent[]): readonly (readonly NodePhase[])[] {
  return events.flatMap((event) => {
    const signal =
      event.workflowExecutionSignaledEventAttributes ??
      event.signalExternalWorkflowExecutionInitiatedEventAttributes;
    const data = signal?.input?.payloads[0]?.data;
    if (signal?.signalName !== nodeFinishedSignal.name || data === undefined) return [];
    const { phases, outcome, failure } = decoded(data) as NodeReport;
    const end = failure === 'NodeDeleted' ? 'Gone' : END[outcome];
    return [[...phases.map(({ phase }) => phase), end]];
  });
}

function decoded(data: string): unknown {
  return JSON.parse(Buffer.from(data, 'base64').toString('utf8'));
}

/**
 * What a person sees as a step. Signals to other workflows, requests to cancel them, changes of search
 * attributes and the markers of patches have no place for a summary.
 */
const STEPS: readonly string[] = [
  'EVENT_TYPE_ACTIVITY_TASK_SCHEDULED',
  'EVENT_TYPE_TIMER_STARTED',
  'EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED',
];
const LOCAL_ACTIVITY = 'core_local_activity';
/** What the server takes, with the payload around the text. */
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

let codePath: string;
beforeAll(async () => {
  Runtime.install({
    logger: new DefaultLogger('ERROR'),
    telemetryOptions: { logging: { filter: { core: 'ERROR', other: 'ERROR' } } },
  });
  codePath = await workflowBundle();
}, 240_000);
afterAll(() => Runtime.instance().shutdown());

async function historyOf(file: string): Promise<{ events: RecordedEvent[] }> {
  return JSON.parse(await readFile(join(HISTORIES, file), 'utf8')) as { events: RecordedEvent[] };
}

/**
 * Under the workflow ID that the recorded input belongs to: both workflows insist on it.
 *
 * @param code - of the workflows; default: as they are shipped
 */
async function replay(history: { events: readonly RecordedEvent[] }, code?: string): Promise<void> {
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
    replacement: '.awaitNodeReady.executeWithOptions(',
    history: 'update-node.reboot.json',
  },
  {
    change: 'a step that is left out',
    // Bounded: the source map at the end is one word of a million letters.
    find: /\b\w{1,3}\.applyUpdate\.executeWithOptions\(/g,
    replacement: 'Promise.resolve(',
    history: 'update-node.restart.json',
  },
  {
    change: 'another workflow as the child',
    find: /\("updateNode",\{workflowId:/g,
    replacement: '("updateMachine",{workflowId:',
    history: 'pool-rollout.completed.json',
  },
];

async function planted({ find, replacement }: PlantedChange): Promise<string> {
  const shipped = await readFile(codePath, 'utf8');
  const changed = shipped.replaceAll(find, replacement);
  if (changed === shipped) throw new Error(`the bundle has nothing like ${String(find)}`);
  return changed;
}

describe('recorded histories', () => {
  it('of every version whose build is kept are those that were frozen with it', async () => {
    for (const version of await packedVersions()) {
      const found = new Map<string, string>();
      for (const name of readdirSync(join(HISTORIES, version))) {
        const bytes = await readFile(join(HISTORIES, version, name));
        found.set(name, createHash('sha256').update(bytes).digest('hex'));
      }
      expect({ version, found }).toEqual({ version, found: await frozenHistories(version) });
    }
  });

  it.each(versions)('of version %s cover both workflows', (version) => {
    const names = historiesOf(version).map((file) => basename(file));
    expect(names.filter((name) => name.startsWith('update-node.')).length).toBeGreaterThan(5);
    expect(names.filter((name) => name.startsWith('pool-rollout.')).length).toBeGreaterThan(5);
  });

  it.each(recorded)('%s replays without a difference', async (file) => {
    const history = await historyOf(file);

    await expect(replay(history)).resolves.toBeUndefined();
  });

  it.each(recorded)(
    '%s goes through the phases as the table of the lifecycle has them',
    async (file) => {
      const lives = livesIn((await historyOf(file)).events);

      // A first run may hand over before anybody has reported.
      if (!file.includes('continued')) expect(lives).not.toEqual([]);
      for (const phases of lives) {
        expect(phases[0]).toBe('Preparing');
        expect(forbiddenStep(phases)).toBeUndefined();
      }
    },
  );

  it.each(recorded)('%s has a summary for every step', async (file) => {
    const steps = (await historyOf(file)).events.filter(isStep);

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
  });

  it('would show a difference: a history with another activity is refused', async () => {
    const file = recorded.find((file) => basename(file) === 'update-node.reboot.json') ?? '';
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

  it.each(PLANTED)('would show $change in the code', async (plant) => {
    const olds = recorded.filter((file) => basename(file) === plant.history);
    const code = await planted(plant);

    expect(olds).not.toEqual([]);
    for (const file of olds) {
      await expect(replay(await historyOf(file), code)).rejects.toBeInstanceOf(
        DeterminismViolationError,
      );
    }
  });

  it('would show a difference: a history with another child is refused', async () => {
    const file = recorded.find((file) => basename(file) === 'pool-rollout.completed.json') ?? '';
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
