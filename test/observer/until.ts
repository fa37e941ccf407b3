/** Events wake these waits, never a clock. */

import type { ObservedNode, ObservedStatus } from './observed';
import type { RolloutRecord } from './record';

/** On a busy machine. */
const PATIENCE_MS = 90_000;

/**
 * Checks the record after each event only.
 *
 * @param what - for the error, as a sentence: `worker-1 is back in service`
 * @param signal - ends the wait
 * @throws Error with the present nodes on timeout, and when the wait is ended
 */
export function until(
  record: RolloutRecord,
  what: string,
  holds: () => boolean,
  patienceMs = PATIENCE_MS,
  signal?: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const finish = (failure?: Error): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', giveUp);
      stop();
      if (failure === undefined) resolve();
      else reject(failure);
    };
    const look = (): void => {
      try {
        if (holds()) finish();
      } catch (error) {
        finish(error instanceof Error ? error : new Error(String(error)));
      }
    };
    const fail = (how: string): void => {
      finish(new Error(`${how}: ${what}\n${describe(record)}`));
    };
    const giveUp = (): void => fail('not seen before the end');
    const stop = record.onChange(look);
    const timer = setTimeout(() => fail(`not seen in ${patienceMs / 1000} s`), patienceMs);
    signal?.addEventListener('abort', giveUp);
    if (signal?.aborted === true) giveUp();
    else look();
  });
}

const GROUP = 'machineconfiguration.openshift.io/';

/**
 * Conditions of pools, and a line for each node, for a person who wants to know why nothing
 * happens. Nodes that are done and serve are only counted.
 */
function describe(record: RolloutRecord): string {
  const unfinished = record.nodes.filter((node) => !isAtRest(node));
  const atRest = record.nodes.length - unfinished.length;
  return [
    ...record.pools.flatMap(complaintsOf),
    ...(atRest === 0 ? [] : [`${atRest} nodes are done and serve`]),
    ...unfinished.map(nodeLine),
  ]
    .map((line) => `  ${line}`)
    .join('\n');
}

/** On its desired config, and serving. */
export function isAtRest({ annotations, ready, unschedulable }: ObservedNode): boolean {
  const has = (name: string) => annotations[`${GROUP}${name}`];
  const isDone = has('state') === 'Done' && has('currentConfig') === has('desiredConfig');
  return isDone && ready && !unschedulable;
}

function complaintsOf({ name, conditions }: ObservedStatus): readonly string[] {
  return Object.entries(conditions)
    .filter(([type, { status }]) => type.endsWith('Degraded') && status === 'True')
    .map(([type, { message }]) => `pool ${name}: ${type}: ${message}`);
}

function nodeLine({ name, unschedulable, ready, annotations }: ObservedNode): string {
  const reason = annotations[`${GROUP}reason`] ?? '';
  const by = annotations['slipway.dev/cordoned-by'] ?? 'a person';
  return [
    name,
    `state ${annotations[`${GROUP}state`]}`,
    `current ${annotations[`${GROUP}currentConfig`]}`,
    `desired ${annotations[`${GROUP}desiredConfig`]}`,
    ...(unschedulable ? [`cordoned by ${by}`] : []),
    ...(ready ? [] : ['not Ready']),
    ...(reason === '' ? [] : [`reason: ${reason}`]),
  ].join(', ');
}
