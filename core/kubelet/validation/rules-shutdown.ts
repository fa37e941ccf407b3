/** Graceful shutdown of the node. */

import { goDurationOf, SECOND } from '../../encoding/go-duration';
import type { FieldProblem } from '../../field-problem';
import { listAt, textAt } from '../../values-at';
import { type Facts, problemAt, shown } from './problem';
import { durationAt, needsGate } from './rules-durations';

const TOTAL = 'shutdownGracePeriod';
const CRITICAL = 'shutdownGracePeriodCriticalPods';
const BY_PRIORITY = 'shutdownGracePeriodByPodPriority';
const GATE = 'GracefulNodeShutdown';
const PRIORITY_GATE = 'GracefulNodeShutdownBasedOnPodPriority';

/** @see kubernetes pkg/kubelet/apis/config/validation (v1.36.3), ValidateKubeletConfiguration */
export function shutdownProblems(facts: Facts): readonly FieldProblem[] {
  const periods = facts.isEnabled(GATE) ? periodProblems(facts) : withoutGate(facts);
  return [...periods, ...priorityProblems(facts)];
}

function periodProblems({ config }: Facts): readonly FieldProblem[] {
  const total = durationAt(config, TOTAL) ?? 0n;
  const critical = durationAt(config, CRITICAL) ?? 0n;
  const short = [TOTAL, CRITICAL].flatMap((name) => {
    const period = durationAt(config, name) ?? 0n;
    if (period === 0n || period >= SECOND) return [];
    const problem = `is ${shown(textAt(config, name))}, which is neither 0s nor 1s or more`;
    return [problemAt([name], problem, 'write 0s, or 1s or more')];
  });
  const given = textAt(config, TOTAL) ?? '0s';
  const isComparable = total >= 0n && goDurationOf(given) !== undefined;
  if (critical <= total || !isComparable) return short;
  const problem = `is ${shown(textAt(config, CRITICAL))}, above ${TOTAL} (${given})`;
  return [...short, problemAt([CRITICAL], problem, `lower it, or raise ${TOTAL}`)];
}

function withoutGate({ config }: Facts): readonly FieldProblem[] {
  return [TOTAL, CRITICAL]
    .filter((name) => (durationAt(config, name) ?? 0n) > 0n)
    .map((name) => needsGate([name], GATE));
}

function priorityProblems({ config, isEnabled }: Facts): readonly FieldProblem[] {
  if (listAt(config, BY_PRIORITY).length === 0) return [];
  if (!isEnabled(PRIORITY_GATE)) return [needsGate([BY_PRIORITY], PRIORITY_GATE)];
  const other = [TOTAL, CRITICAL].find((name) => (durationAt(config, name) ?? 0n) > 0n);
  if (other === undefined) return [];
  const problem = `cannot be combined with ${other} (${textAt(config, other) ?? ''})`;
  return [problemAt([BY_PRIORITY], problem, `remove it, or ${TOTAL} and ${CRITICAL}`)];
}
