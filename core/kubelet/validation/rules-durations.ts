/** Durations: how they are written, and their ranges. */

import { goDurationOf, MILLISECOND, MINUTE, SECOND } from '../../encoding/go-duration';
import type { FieldProblem } from '../../field-problem';
import { textAt, valueAt } from '../../values-at';
import { type Facts, problemAt, shown } from './problem';

type Config = Facts['config'];

/** Paths of the fields. */
const DURATIONS: readonly (readonly string[])[] = [
  ...['syncFrequency', 'fileCheckFrequency', 'httpCheckFrequency', 'runtimeRequestTimeout'],
  ...['streamingConnectionIdleTimeout', 'nodeStatusUpdateFrequency', 'nodeStatusReportFrequency'],
  ...['imageMinimumGCAge', 'imageMaximumGCAge', 'volumeStatsAggPeriod', 'cpuCFSQuotaPeriod'],
  ...['cpuManagerReconcilePeriod', 'evictionPressureTransitionPeriod', 'shutdownGracePeriod'],
  ...['shutdownGracePeriodCriticalPods', 'containerLogMonitorInterval'],
  'authentication.webhook.cacheTTL',
  'authorization.webhook.cacheAuthorizedTTL',
  'authorization.webhook.cacheUnauthorizedTTL',
  'crashLoopBackOff.maxContainerRestartPeriod',
  'logging.flushFrequency',
].map((name) => name.split('.'));

export const DURATION_FIX = 'write a number with a unit, such as 30s, 5m or 1h30m';

/** @see k8s.io/apimachinery pkg/apis/meta/v1/duration.go (v0.36.3), UnmarshalJSON */
export function durationSyntax({ config }: Facts): readonly FieldProblem[] {
  return DURATIONS.flatMap((path) => {
    const value = valueAt(config, ...path);
    if (typeof value !== 'string' || goDurationOf(value) !== undefined) return [];
    return [problemAt(path, `is ${shown(value)}, which is no duration`, DURATION_FIX)];
  });
}

/** @see kubernetes pkg/kubelet/apis/config/validation (v1.36.3), ValidateKubeletConfiguration */
export function durationRanges(facts: Facts): readonly FieldProblem[] {
  const { config } = facts;
  return [
    ...['syncFrequency', 'runtimeRequestTimeout', 'imageMinimumGCAge', 'imageMaximumGCAge'].flatMap(
      (name) => negative(config, [name]),
    ),
    ...imageAges(facts),
    ...quotaPeriod(facts),
    ...logInterval(config),
    ...restartPeriod(facts),
    ...flushFrequency(config),
  ];
}

function negative(config: Config, path: readonly string[]): readonly FieldProblem[] {
  const value = durationAt(config, ...path) ?? 0n;
  if (value >= 0n) return [];
  const text = shown(valueAt(config, ...path));
  return [problemAt(path, `is ${text}, which is negative`, 'write a positive duration')];
}

function imageAges({ config, isEnabled }: Facts): readonly FieldProblem[] {
  const path = ['imageMaximumGCAge'];
  const most = durationAt(config, ...path) ?? 0n;
  const written = durationAt(config, 'imageMinimumGCAge') ?? 0n;
  const [least, leastText] =
    written === 0n ? [2n * MINUTE, '2m'] : [written, textAt(config, 'imageMinimumGCAge') ?? ''];
  const text = shown(valueAt(config, ...path));
  if (most !== 0n && !isEnabled('ImageMaximumGCAge')) return [needsGate(path, 'ImageMaximumGCAge')];
  if (most <= 0n || most > least) return [];
  const problem = `is ${text}, not above imageMinimumGCAge (${leastText})`;
  return [problemAt(path, problem, 'raise it, or write 0s for no maximum')];
}

function quotaPeriod({ config, isEnabled }: Facts): readonly FieldProblem[] {
  const path = ['cpuCFSQuotaPeriod'];
  const gate = 'CustomCPUCFSQuotaPeriod';
  const period = durationAt(config, ...path) ?? 100n * MILLISECOND;
  if (!isEnabled(gate)) return period === 100n * MILLISECOND ? [] : [needsGate(path, gate)];
  return outside(config, path, period >= MILLISECOND && period <= SECOND, '1ms to 1s');
}

function logInterval(config: Config): readonly FieldProblem[] {
  const path = ['containerLogMonitorInterval'];
  const interval = durationAt(config, ...path) ?? 10n * SECOND;
  return outside(config, path, interval >= 3n * SECOND, '3s or more');
}

function restartPeriod({ config, isEnabled }: Facts): readonly FieldProblem[] {
  const path = ['crashLoopBackOff', 'maxContainerRestartPeriod'];
  const gate = 'KubeletCrashLoopBackOffMax';
  const value = valueAt(config, ...path);
  if (value === undefined || value === null) return [];
  if (!isEnabled(gate)) return [needsGate(path, gate)];
  const milliseconds = (durationAt(config, ...path) ?? SECOND) / MILLISECOND;
  return outside(config, path, milliseconds >= 1000n && milliseconds <= 300_000n, '1s to 300s');
}

/** A number = nanoseconds. */
function flushFrequency(config: Config): readonly FieldProblem[] {
  const path = ['logging', 'flushFrequency'];
  const value = valueAt(config, ...path);
  if (typeof value !== 'number') return negative(config, path);
  if (value >= 0) return [];
  return [problemAt(path, `is ${value}, which is negative`, 'write a positive duration')];
}

function outside(
  config: Config,
  path: readonly string[],
  isInside: boolean,
  allowed: string,
): readonly FieldProblem[] {
  if (isInside) return [];
  const text = shown(valueAt(config, ...path));
  return [problemAt(path, `is ${text}, outside of ${allowed}`, `write ${allowed}`)];
}

/** In nanoseconds; undefined also for a text that is no duration. */
export function durationAt(config: Config, ...path: readonly string[]): bigint | undefined {
  return goDurationOf(textAt(config, ...path) ?? '');
}

/** A value that only a disabled feature allows. */
export function needsGate(path: readonly (string | number)[], gate: string): FieldProblem {
  return problemAt(
    path,
    `needs the feature gate ${gate}, which is off`,
    `remove it, or set featureGates.${gate} to true`,
  );
}
