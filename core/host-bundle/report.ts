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

/** What the server gives now, and what is wrong with the sources of it. */
export interface GivenBundle {
  readonly pool: string;
  readonly digest: string;
  readonly problems: readonly BundleProblem[];
}

/**
 * The condition for a report.
 *
 * @param previous - the present condition, for its transition time
 * @param now - RFC 3339
 */
export function bundleCondition(
  report: BundleReport,
  given: GivenBundle,
  previous: Condition | undefined,
  now: string,
): Condition {
  const value = valueOf(report, given);
  const lastTransitionTime =
    previous?.status === value.status ? (previous.lastTransitionTime ?? now) : now;
  return { type: NodeCondition.HOST_BUNDLE, ...value, lastTransitionTime };
}

function valueOf(
  { digest, problem, leftToConfig = [] }: BundleReport,
  given: GivenBundle,
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
    const waits = `bundle ${short(given.digest)} waits for an update of the host, or for its turn to restart the kubelet`;
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

/** The condition of the last report; undefined = the host never reported. */
export function bundleShown(
  known: Pick<MachineConfigNode, 'status'> | undefined,
): Condition | undefined {
  return known?.status?.conditions?.find(({ type }) => type === NodeCondition.HOST_BUNDLE);
}
