/** Eviction thresholds and what belongs to them. */

import { quantityOf } from '../../encoding/quantity';
import { goDurationOf } from '../../encoding/go-duration';
import { parseGoFloat32 } from '../../encoding/go-numbers';
import type { FieldProblem } from '../../field-problem';
import { recordAt, textEntriesAt, flagAt } from '../../values-at';
import { anyOf, type Facts, problemAt, shown } from './problem';
import { DURATION_FIX } from './rules-durations';

const SIGNALS: readonly string[] = [
  ...['memory.available', 'nodefs.available', 'nodefs.inodesFree'],
  ...['imagefs.available', 'imagefs.inodesFree', 'containerfs.available'],
  ...['containerfs.inodesFree', 'allocatableMemory.available', 'pid.available'],
];

/** @see kubernetes pkg/kubelet/eviction/defaults_linux.go (v1.36.3) */
const HARD_DEFAULTS: Readonly<Record<string, string>> = {
  'memory.available': '100Mi',
  'nodefs.available': '10%',
  'nodefs.inodesFree': '5%',
  'imagefs.available': '15%',
  'imagefs.inodesFree': '5%',
};

const AMOUNT_FIX = 'write a quantity such as 100Mi, or a percentage such as 10%';

/** @see kubernetes pkg/kubelet/eviction/helpers.go (v1.36.3), ParseThresholdConfig */
export function evictionProblems({ config }: Facts): readonly FieldProblem[] {
  return [
    ...entryProblems(config, 'evictionHard', thresholdProblem),
    ...entryProblems(config, 'evictionSoft', thresholdProblem),
    ...entryProblems(config, 'evictionSoftGracePeriod', gracePeriodProblem),
    ...entryProblems(config, 'evictionMinimumReclaim', reclaimProblem),
    ...withoutGracePeriod(config),
  ];
}

/** What the kubelet evicts for, with the defaults where they count. */
export function hardThresholds(config: Facts['config']): Readonly<Record<string, string>> {
  if (recordAt(config, 'evictionHard') === undefined) return HARD_DEFAULTS;
  const written = Object.fromEntries(textEntriesAt(config, 'evictionHard'));
  const withDefaults = flagAt(config, 'mergeDefaultEvictionSettings') === true;
  return withDefaults ? { ...HARD_DEFAULTS, ...written } : written;
}

type Check = (value: string) => readonly [problem: string, fix: string] | undefined;

function entryProblems(
  config: Facts['config'],
  field: string,
  check: Check,
): readonly FieldProblem[] {
  return textEntriesAt(config, field).flatMap(([signal, value]) => {
    const path = [field, signal];
    if (!SIGNALS.includes(signal)) {
      return [problemAt(path, `${shown(signal)} is no eviction signal`, `use ${anyOf(SIGNALS)}`)];
    }
    const found = check(value);
    return found === undefined
      ? []
      : [problemAt(path, `is ${shown(value)}, ${found[0]}`, found[1])];
  });
}

function thresholdProblem(value: string): ReturnType<Check> {
  if (value === '0%' || value === '100%') return undefined;
  if (!value.endsWith('%')) {
    const quantity = quantityOf(value);
    if (quantity === undefined) return ['which is neither a quantity nor a percentage', AMOUNT_FIX];
    return quantity.nanos > 0n ? undefined : ['which is not above zero', AMOUNT_FIX];
  }
  const percentage = parsePercentage(value);
  if (percentage === undefined) return ['which is no percentage', AMOUNT_FIX];
  if (percentage >= 0 && percentage <= 1) return undefined;
  return ['outside of 0% to 100%', 'write a percentage from 0% to 100%'];
}

function gracePeriodProblem(value: string): ReturnType<Check> {
  const period = goDurationOf(value);
  if (period === undefined) return ['which is no duration', DURATION_FIX];
  return period < 0n ? ['which is negative', DURATION_FIX] : undefined;
}

function reclaimProblem(value: string): ReturnType<Check> {
  if (value.endsWith('%')) {
    const percentage = parsePercentage(value);
    if (percentage === undefined) return ['which is no percentage', AMOUNT_FIX];
    return percentage > 0 ? undefined : ['which is not above zero', AMOUNT_FIX];
  }
  const quantity = quantityOf(value);
  if (quantity === undefined) return ['which is neither a quantity nor a percentage', AMOUNT_FIX];
  return quantity.nanos < 0n ? ['which is negative', AMOUNT_FIX] : undefined;
}

/** A part of one, as precise as the kubelet: 32 bits. */
function parsePercentage(text: string): number | undefined {
  const number = parseGoFloat32(text.replace(/%+$/, ''));
  return number === undefined ? undefined : Math.fround(number / 100);
}

/** The kubelet ignores a threshold of 0% or 100%, so that it needs none. */
function withoutGracePeriod(config: Facts['config']): readonly FieldProblem[] {
  const periods = recordAt(config, 'evictionSoftGracePeriod') ?? {};
  return textEntriesAt(config, 'evictionSoft').flatMap(([signal, value]) => {
    if (value === '0%' || value === '100%' || !SIGNALS.includes(signal)) return [];
    if (Object.hasOwn(periods, signal)) return [];
    const problem = `is ${shown(value)}, but evictionSoftGracePeriod has no entry for ${signal}`;
    const fix = `add evictionSoftGracePeriod.${JSON.stringify(signal)}, such as 1m30s`;
    return [problemAt(['evictionSoft', signal], problem, fix)];
  });
}
