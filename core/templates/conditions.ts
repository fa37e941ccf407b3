/**
 * What the ControllerConfig says about its MachineConfigs.
 *
 * @see MCO pkg/controller/template/status.go (7ff337a4)
 */

import type { OriginCondition } from '../generated-configs/types';
import type { Condition } from '../object-meta';
import { setCondition } from '../pool/conditions';

const RUNNING = 'TemplateControllerRunning';
const COMPLETED = 'TemplateControllerCompleted';
/** True = the MachineConfigs of the templates are not what they should be. */
export const TEMPLATES_FAILING = 'TemplateControllerFailing';

interface Sync {
  readonly generation: number;
  /** Of the controllers. */
  readonly version: string;
  /** RFC 3339. */
  readonly now: string;
}

export function isFailing(conditions: readonly OriginCondition[]): boolean {
  return conditions.some(({ type, status }) => type === TEMPLATES_FAILING && status === 'True');
}

/** Before the writes. Failing stays as it is until they are done. */
export function runningConditions(
  conditions: readonly OriginCondition[],
  observedGeneration: number | undefined,
  { generation, version, now }: Sync,
): readonly Condition[] {
  const message = `syncing towards (${generation}) generation using controller version ${version}`;
  const running = setCondition(full(conditions), { type: RUNNING, status: 'True', message }, now);
  const wasCompleted = conditions.some(
    ({ type, status }) => type === COMPLETED && status === 'True',
  );
  if (observedGeneration === generation || !wasCompleted) return running;
  const changed = `${message} due to change in Generation`;
  return setCondition(running, { type: COMPLETED, status: 'False', message: changed }, now);
}

/** After the writes, or instead of them when there is a problem. */
export function endedConditions(
  conditions: readonly OriginCondition[],
  problem: string | undefined,
  { generation, version, now }: Sync,
): readonly Condition[] {
  const towards = `(${generation}) generation using controller version ${version}`;
  const ended =
    problem === undefined
      ? [
          {
            type: COMPLETED,
            status: 'True',
            message: `sync completed towards ${towards}`,
          } as const,
          { type: RUNNING, status: 'False' } as const,
          { type: TEMPLATES_FAILING, status: 'False' } as const,
        ]
      : [
          {
            type: TEMPLATES_FAILING,
            status: 'True',
            message: `failed to syncing towards ${towards}: ${problem}`,
          } as const,
          { type: COMPLETED, status: 'False' } as const,
          { type: RUNNING, status: 'False' } as const,
        ];
  return ended.reduce((list, value) => setCondition(list, value, now), full(conditions));
}

/** Of any writer; the others' stay as they are. */
function full(conditions: readonly OriginCondition[]): readonly Condition[] {
  return conditions.map(({ reason = '', message = '', ...rest }) => ({ ...rest, reason, message }));
}
