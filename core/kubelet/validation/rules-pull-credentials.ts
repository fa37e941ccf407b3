/** Who may use an image that is on the node. */

import type { FieldProblem } from '../../field-problem';
import { HOST_PATTERN, PATH_PATTERN } from '../../registries/reference';
import { textAt, textsAt } from '../../values-at';
import { type Facts, problemAt, shown, unlessOneOf } from './problem';
import { needsGate } from './rules-durations';

const POLICY = 'imagePullCredentialsVerificationPolicy';
const LIST = 'preloadedImagesVerificationAllowlist';
const GATE = 'KubeletEnsureSecretPulledImages';
const BY_LIST = 'NeverVerifyAllowlistedImages';
const POLICIES = ['NeverVerify', 'NeverVerifyPreloadedImages', BY_LIST, 'AlwaysVerify'];

/**
 * @see kubernetes pkg/kubelet/apis/config/validation (v1.36.3), ValidateKubeletConfiguration;
 *   pkg/kubelet/images/pullmanager/image_pull_policies.go, ValidateAllowlistImagesPatterns
 */
export function pullCredentialProblems(facts: Facts): readonly FieldProblem[] {
  const { config, isEnabled } = facts;
  const policy = textAt(config, POLICY) ?? '';
  const patterns = textsAt(config, LIST);
  if (!isEnabled(GATE)) {
    return [
      ...(policy === '' ? [] : [needsGate([POLICY], GATE)]),
      ...(patterns.length === 0 ? [] : [needsGate([LIST], GATE)]),
    ];
  }
  return [
    ...unlessOneOf([POLICY], policy, POLICIES),
    ...(patterns.length > 0 && policy !== BY_LIST ? [unusedList(policy)] : []),
    ...patterns.flatMap(([pattern, i]) => patternProblems(pattern, [LIST, i])),
  ];
}

function unusedList(policy: string): FieldProblem {
  const problem = `needs ${POLICY} ${shown(BY_LIST)}, not ${shown(policy || 'NeverVerifyPreloadedImages')}`;
  return problemAt([LIST], problem, 'remove it, or set that policy');
}

const HOST = `(?:${HOST_PATTERN}|\\[[a-fA-F0-9:]+\\](?::[0-9]+)?)`;
/** With the path as its group, which is limited. @see distribution/reference v0.6.0, Parse */
const IMAGE = new RegExp(`^(?:${HOST}/)?(${PATH_PATTERN})$`);
const LONGEST_PATH = 255;

function patternProblems(
  pattern: string,
  path: readonly (string | number)[],
): readonly FieldProblem[] {
  if (isPattern(pattern)) return [];
  const problem = `is ${shown(pattern)}, which is no image without tag and digest, and no pattern`;
  return [problemAt(path, problem, 'write such as quay.io/group/image, or quay.io/group/*')];
}

function isPattern(pattern: string): boolean {
  if (pattern !== pattern.trim()) return false;
  if (pattern.endsWith('/*')) return pattern.length > 2 && !pattern.slice(0, -1).includes('*');
  const path = IMAGE.exec(pattern)?.[1];
  return path !== undefined && path.length <= LONGEST_PATH;
}
