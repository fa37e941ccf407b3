/** The cost of a rollout for Temporal, counted in histories, whatever the load of the machine. */

import { Client, Connection } from '@temporalio/client';
import { dataConverter } from '../process/temporal/payload-codec';
import { poolRolloutId, updateNodeId } from '../core/names';
import type { Stack } from '../tools/stack/stack';
import { stepsOf, stepTimes, type Event, type Step, type StepTimes } from './step-times';

/** Over all runs of the worker pool's rollouts and of every node update. */
export interface HistoryCounts {
  readonly workflowTasks: number;
  /** The server refused the result; each was decided again. */
  readonly failedTasks: number;
  /** No worker started or completed them in time. */
  readonly lateTasks: number;
  /** Activities scheduled through the server; local activities are in `markers`. */
  readonly activities: number;
  readonly localActivities: number;
  readonly signals: number;
  readonly events: number;
}

const NOTHING: HistoryCounts = {
  workflowTasks: 0,
  failedTasks: 0,
  lateTasks: 0,
  activities: 0,
  localActivities: 0,
  signals: 0,
  events: 0,
};

/** A page of a rollout through 5,000 nodes exceeds the client's default of 4 MiB. */
const LARGEST_PAGE = 64 * 1024 * 1024;

export async function countHistories(
  stack: Stack,
): Promise<{ readonly counts: HistoryCounts; readonly steps: readonly StepTimes[] }> {
  const connection = await Connection.connect({
    address: stack.temporal.address,
    channelArgs: { 'grpc.max_receive_message_length': LARGEST_PAGE },
  });
  try {
    const { namespace } = stack.temporal;
    const client = new Client({
      ...{ connection, namespace },
      dataConverter: dataConverter(stack.temporal.payloadKeys?.codec),
    });
    let counts = NOTHING;
    const steps: Step[] = [];
    for (const id of [poolRolloutId('worker'), ...stack.nodesOf('worker').map(updateNodeId)]) {
      for await (const events of historiesOf(client, id)) {
        counts = sum(counts, countsIn(events));
        if (id !== poolRolloutId('worker')) steps.push(...stepsOf(events));
      }
    }
    return { counts, steps: stepTimes(steps) };
  } finally {
    await connection.close();
  }
}

async function* historiesOf(client: Client, workflowId: string): AsyncGenerator<readonly Event[]> {
  for await (const execution of client.workflow.list({ query: `WorkflowId = '${workflowId}'` })) {
    const { events } = await client.workflow.getHandle(workflowId, execution.runId).fetchHistory();
    yield events ?? [];
  }
}

function countsIn(events: readonly Event[]): HistoryCounts {
  const count = (is: (event: Event) => boolean) => events.filter(is).length;
  return {
    workflowTasks: count((event) => event.workflowTaskCompletedEventAttributes != null),
    failedTasks: count((event) => event.workflowTaskFailedEventAttributes != null),
    lateTasks: count((event) => event.workflowTaskTimedOutEventAttributes != null),
    activities: count((event) => event.activityTaskScheduledEventAttributes != null),
    localActivities: count(
      (event) => event.markerRecordedEventAttributes?.markerName === 'core_local_activity',
    ),
    signals: count((event) => event.workflowExecutionSignaledEventAttributes != null),
    events: events.length,
  };
}

function sum(one: HistoryCounts, other: HistoryCounts): HistoryCounts {
  return {
    workflowTasks: one.workflowTasks + other.workflowTasks,
    failedTasks: one.failedTasks + other.failedTasks,
    lateTasks: one.lateTasks + other.lateTasks,
    activities: one.activities + other.activities,
    localActivities: one.localActivities + other.localActivities,
    signals: one.signals + other.signals,
    events: one.events + other.events,
  };
}
