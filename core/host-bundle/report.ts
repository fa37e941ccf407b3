/** What a host says of its bundle, and how its MachineConfigNode shows it. */

import { cut } from '../encoding/one-line';
import { fewNames, fewSentences } from '../few';
import { NodeCondition } from '../names';
import type { MachineConfigNode } from '../node/types';
import type { Condition } from '../object-meta';
import { type BundleProblem, bundleProblemText } from './types';

export interface BundleReport {
  /** Hex: the bundle that is on the disk; absent = none since the host worker has started. */
  readonly digest?: string;
  /** Hex: the bundle that the host was given last; absent = none yet. */
  readonly given?: string;
  /** Why that one is not on the disk: a sentence without contents. */
  readonly problem?: string;
  /** Paths of the bundle that the config of the host has, too, and that were left to it. */
  readonly leftToConfig?: readonly string[];
}

export const PROBLEM_LIMIT = 1024;
export const LEFT_REPORTED = 20;

const SHOWN_DIGITS = 12;

/**
 * The condition for a report.
 *
 * @param given - what the server gives now, and what is wrong with the sources of it
 * @param previous - the present condition, for its transition time
 * @param now - RFC 3339
 */
export function bundleCondition(
  report: BundleReport,
  given: {
    readonly pool: string;
    readonly digest: string;
    readonly problems: readonly BundleProblem[];
  },
  previous: Condition | undefined,
  now: string,
): Condition {
  const value = valueOf(report, given);
  const lastTransitionTime =
    previous?.status === value.status ? (previous.lastTransitionTime ?? now) : now;
  return { type: NodeCondition.HOST_BUNDLE, ...value, lastTransitionTime };
}

type Given = Parameters<typeof bundleCondition>[1];

function valueOf(
  { digest, problem, leftToConfig = [] }: BundleReport,
  given: Given,
): Pick<Condition, 'status' | 'reason' | 'message'> {
  const short = (text: string) => text.slice(0, SHOWN_DIGITS);
  const has = digest === undefined ? 'no bundle' : `bundle ${short(digest)} of pool ${given.pool}`;
  const says = (status: 'True' | 'False', reason: string, ...sentences: readonly string[]) => ({
    status,
    reason,
    message: cut(sentences.join('; '), 4 * PROBLEM_LIMIT),
  });
  if (problem !== undefined) return says('False', 'NotWritten', `the host has ${has}`, problem);
  if (digest !== given.digest) {
    const waits = `bundle ${short(given.digest)} waits for the update that is under way`;
    return says('False', 'Waiting', `the host has ${has}`, waits);
  }
  if (given.problems.length > 0) {
    return says(
      'False',
      'InvalidSource',
      `the host has ${has}`,
      fewSentences(given.problems.map(bundleProblemText)),
    );
  }
  if (leftToConfig.length === 0) return says('True', 'Written', `the host has ${has}`);
  const paths = fewNames(leftToConfig);
  const sentence = `left to the config of the host: ${paths}; to get it from the bundle, take it out of the MachineConfig that brings it`;
  return says('True', 'LeftToConfig', `the host has ${has}`, sentence);
}

const HAS_BUNDLE = new RegExp(`^the host has bundle ([0-9a-f]{${SHOWN_DIGITS}}) of pool `);
/** The others say by themselves that the host has not what it was given, and why. */
const REPLACED = ['Written', 'LeftToConfig', 'InvalidSource', 'Older'];

/**
 * The condition of a host that has not reported since its pool got another bundle.
 *
 * @param shown - the present condition
 * @param now - RFC 3339
 * @returns undefined = the present one stays
 */
export function olderCondition(
  shown: Condition | undefined,
  given: { readonly pool: string; readonly digest: string },
  now: string,
): Condition | undefined {
  if (shown === undefined || !REPLACED.includes(shown.reason)) return undefined;
  const [has, digits] = HAS_BUNDLE.exec(shown.message) ?? [];
  const wanted = given.digest.slice(0, SHOWN_DIGITS);
  if (has === undefined || digits === wanted) return undefined;
  const { pool } = given;
  const message = `the host has bundle ${digits} of pool ${pool}, and gets ${wanted}`;
  if (shown.reason === 'Older' && shown.message === message) return undefined;
  const lastTransitionTime = shown.status === 'False' ? (shown.lastTransitionTime ?? now) : now;
  return { ...shown, status: 'False', reason: 'Older', message, lastTransitionTime };
}

/** The condition of the last report; undefined = the host never reported. */
export function bundleShown(
  known: Pick<MachineConfigNode, 'status'> | undefined,
): Condition | undefined {
  return known?.status?.conditions?.find(({ type }) => type === NodeCondition.HOST_BUNDLE);
}
