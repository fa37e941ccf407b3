/** Where the time of node updates goes: of each step, and between it and what follows. */

import type { temporal } from '@temporalio/proto';
import { percentile } from '../tools/measure/percentile';

export type Event = temporal.api.history.v1.IHistoryEvent;

/** Medians, in ms. */
export interface StepTimes {
  readonly step: string;
  readonly times: number;
  /** Until a worker has it. */
  readonly queuedMs: number;
  readonly tookMs: number;
  /** From its end until the workflow goes on. */
  readonly afterMs: number;
}

export interface Step {
  readonly type: string;
  readonly scheduledMs: number;
  startedMs?: number;
  endedMs?: number;
  nextMs?: number;
}

export function stepTimes(all: readonly Step[]): readonly StepTimes[] {
  return [...new Set(all.map(({ type }) => type))].map((step) => {
    const steps = all.filter(({ type }) => type === step);
    return {
      step,
      times: steps.length,
      queuedMs: median(steps, ({ scheduledMs, startedMs }) => [scheduledMs, startedMs]),
      tookMs: median(steps, ({ startedMs, endedMs }) => [startedMs, endedMs]),
      afterMs: median(steps, ({ endedMs, nextMs }) => [endedMs, nextMs]),
    };
  });
}

function median(
  steps: readonly Step[],
  span: (step: Step) => readonly [number | undefined, number | undefined],
): number {
  const known = steps.flatMap((step) => {
    const [from, to] = span(step);
    return from === undefined || to === undefined ? [] : [to - from];
  });
  return percentile(known, 0.5);
}

/** Of one run of an update. */
export function stepsOf(events: readonly Event[]): readonly Step[] {
  const steps = new Map<string, Step>();
  let waiting: Step[] = [];
  for (const event of events) {
    const atMs = msOf(event);
    const scheduled = event.activityTaskScheduledEventAttributes;
    if (scheduled != null) {
      const type = scheduled.activityType?.name ?? '';
      steps.set(String(event.eventId), { type, scheduledMs: atMs });
    }
    if (scheduled != null || event.workflowExecutionCompletedEventAttributes != null) {
      for (const step of waiting) step.nextMs = atMs;
      waiting = [];
    }
    const started = event.activityTaskStartedEventAttributes;
    const begun = steps.get(String(started?.scheduledEventId));
    if (begun !== undefined) begun.startedMs = atMs;
    const completed = event.activityTaskCompletedEventAttributes;
    const ended = steps.get(String(completed?.scheduledEventId));
    if (ended === undefined) continue;
    ended.endedMs = atMs;
    waiting.push(ended);
  }
  return [...steps.values()];
}

function msOf({ eventTime }: Event): number {
  return Number(eventTime?.seconds ?? 0) * 1000 + (eventTime?.nanos ?? 0) / 1e6;
}
