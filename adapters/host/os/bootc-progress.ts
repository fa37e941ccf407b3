/**
 * bootc's pulls report lines of JSON on a file descriptor. The option is hidden and its format
 * versioned, so unknown lines are skipped.
 */

import type { PullProgress } from './os-status';

/** The first version with a certain `--progress-fd`. */
const HAS_PROGRESS_SINCE = [1, 3] as const;

/** @param version - output of `bootc --version`: `bootc 1.3.0` */
export function hasProgress(version: string): boolean {
  const numbers = /^bootc v?(\d+)\.(\d+)/.exec(version);
  if (numbers === null) return false;
  const [major, minor] = [Number(numbers[1]), Number(numbers[2])];
  return (
    major > HAS_PROGRESS_SINCE[0] ||
    (major === HAS_PROGRESS_SINCE[0] && minor >= HAS_PROGRESS_SINCE[1])
  );
}

/** Undefined = another kind of line. */
export function readProgressLine(line: string): PullProgress | undefined {
  const event = parse(line);
  const [bytes, layers] = [countOf(event['bytes']), countOf(event['steps'])];
  if (event['type'] !== 'ProgressBytes' || bytes === undefined || layers === undefined) {
    return undefined;
  }
  const [totalBytes, totalLayers] = [countOf(event['bytesTotal']), countOf(event['stepsTotal'])];
  return {
    bytes,
    layers,
    ...(totalBytes === undefined || totalBytes === 0 ? {} : { totalBytes }),
    ...(totalLayers === undefined || totalLayers === 0 ? {} : { totalLayers }),
  };
}

function parse(line: string): Readonly<Record<string, unknown>> {
  try {
    const event: unknown = JSON.parse(line);
    return typeof event === 'object' && event !== null ? { ...event } : {};
  } catch {
    return {};
  }
}

function countOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined;
}
