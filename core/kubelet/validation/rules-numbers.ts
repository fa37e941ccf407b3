/** Ranges of numbers. */

import type { FieldProblem } from '../../field-problem';
import { flagAt, numberAt, valueAt } from '../../values-at';
import { problemAt, type Facts, shown } from './problem';

const INT32 = 2 ** 31 - 1;

interface Range {
  readonly path: readonly string[];
  readonly least: number;
  readonly most?: number;
  /** Of whole numbers. */
  readonly bits?: 32 | 64;
}

/** Zero is the default of a field whose range begins with it. */
const RANGES: readonly Range[] = [
  ...['eventBurst', 'eventRecordQPS', 'registryBurst', 'registryPullQPS', 'kubeAPIBurst'].map(
    (name) => atLeast(name, 0),
  ),
  ...['kubeAPIQPS', 'maxPods', 'podsPerCore', 'nodeLeaseDurationSeconds'].map((name) =>
    atLeast(name, 0),
  ),
  atLeast('nodeStatusMaxImages', -1),
  atLeast('maxParallelImagePulls', 1),
  atLeast('containerLogMaxWorkers', 1),
  atLeast('containerLogMaxFiles', 2),
  { path: ['maxOpenFiles'], least: 0, bits: 64 },
  { path: ['podPidsLimit'], least: -(2 ** 63), bits: 64 },
  { path: ['evictionMaxPodGracePeriod'], least: -INT32 - 1 },
  ...['port', 'readOnlyPort', 'healthzPort'].map((name) => between(name, 0, 65_535)),
  ...['imageGCHighThresholdPercent', 'imageGCLowThresholdPercent'].map((name) =>
    between(name, 0, 100),
  ),
  ...['iptablesDropBit', 'iptablesMasqueradeBit'].map((name) => between(name, 0, 31)),
  between('oomScoreAdj', -1000, 1000),
  { path: ['tracing', 'samplingRatePerMillion'], least: 0, most: 1_000_000 },
  { path: ['logging', 'verbosity'], least: 0, most: INT32 },
];

function atLeast(name: string, least: number): Range {
  return { path: [name], least };
}

function between(name: string, least: number, most: number): Range {
  return { path: [name], least, most };
}

/** @see kubernetes pkg/kubelet/apis/config/validation (v1.36.3), ValidateKubeletConfiguration */
export function numberProblems({ config }: Facts): readonly FieldProblem[] {
  return RANGES.flatMap((range) => rangeProblems(range, numberAt(config, ...range.path)));
}

function rangeProblems(range: Range, value: number | undefined): readonly FieldProblem[] {
  if (value === undefined) return [];
  const { path, least, most } = range;
  if (!Number.isInteger(value)) {
    return [problemAt(path, `is ${shown(value)}, which is not whole`, 'write a whole number')];
  }
  const limit = most ?? (range.bits === 64 ? 2 ** 63 : INT32);
  if (value >= least && value <= limit) return [];
  const allowed = most === undefined && value < least ? `${least} or more` : `${least} to ${limit}`;
  return [problemAt(path, `is ${shown(value)}, outside of ${allowed}`, `write ${allowed}`)];
}

/** Values that exclude each other. */
export function numberConflicts({ config }: Facts): readonly FieldProblem[] {
  return [
    ...imageThresholds(config),
    ...parallelPulls(config),
    ...memoryThrottling(config),
    ...equalPorts(config),
  ];
}

function imageThresholds(config: Facts['config']): readonly FieldProblem[] {
  const high = numberAt(config, 'imageGCHighThresholdPercent') ?? 85;
  const low = numberAt(config, 'imageGCLowThresholdPercent') ?? 80;
  // One that is out of its range is said by itself.
  if (low < high || [low, high].some((value) => value < 0 || value > 100)) return [];
  const name = 'imageGCLowThresholdPercent';
  // Point to the one that is written.
  const isLow = valueAt(config, name) !== undefined && valueAt(config, name) !== null;
  return [
    isLow
      ? problemAt([name], `is ${low}, not below imageGCHighThresholdPercent (${high})`, 'lower it')
      : problemAt(
          ['imageGCHighThresholdPercent'],
          `is ${high}, not above imageGCLowThresholdPercent (${low} by default)`,
          high > 0 ? `raise it, or set imageGCLowThresholdPercent below ${high}` : 'raise it',
        ),
  ];
}

function parallelPulls(config: Facts['config']): readonly FieldProblem[] {
  const most = numberAt(config, 'maxParallelImagePulls') ?? 1;
  if (most < 2 || flagAt(config, 'serializeImagePulls') !== true) return [];
  return [
    problemAt(
      ['maxParallelImagePulls'],
      `is ${most}, but serializeImagePulls is true, which allows one`,
      'set serializeImagePulls to false, or write 1',
    ),
  ];
}

function memoryThrottling(config: Facts['config']): readonly FieldProblem[] {
  const factor = numberAt(config, 'memoryThrottlingFactor') ?? 1;
  if (factor > 0 && factor <= 1) return [];
  const problem = `is ${factor}, outside of more than 0 and at most 1`;
  return [problemAt(['memoryThrottlingFactor'], problem, 'write a number such as 0.9')];
}

/** Both servers listen on the same address. */
function equalPorts(config: Facts['config']): readonly FieldProblem[] {
  const readOnly = numberAt(config, 'readOnlyPort') ?? 0;
  const written = numberAt(config, 'port') ?? 0;
  const port = written === 0 ? 10_250 : written;
  if (readOnly !== port || flagAt(config, 'enableServer') === false) return [];
  const problem = `is ${readOnly}, on which the kubelet's other server listens (port)`;
  return [problemAt(['readOnlyPort'], problem, 'write another port, or 0 for none')];
}
