import { percentile } from '../tools/measure/percentile';
import type { NodeReport } from '../workflows/contracts/update';
import type { RolloutRecord } from '../test/observer/record';

/** A row per phase: count, p50 and p95 in seconds. */
export function phaseTable(reports: readonly Pick<NodeReport, 'phases'>[]): readonly string[] {
  const byPhase = new Map<string, number[]>();
  for (const report of reports) {
    for (const { phase, seconds } of report.phases) {
      byPhase.set(phase, [...(byPhase.get(phase) ?? []), seconds]);
    }
  }
  const rows = [...byPhase].map(
    ([phase, seconds]) =>
      `  ${phase.padEnd(16)}${String(seconds.length).padStart(5)}${seconds1(percentile(seconds, 0.5))}${seconds1(percentile(seconds, 0.95))}`,
  );
  return [
    `  ${'phase'.padEnd(16)}${'runs'.padStart(5)}${'p50'.padStart(9)}${'p95'.padStart(9)}`,
    ...rows,
  ];
}

function seconds1(value: number): string {
  return `${value.toFixed(1)} s`.padStart(9);
}

export function observerLines(record: RolloutRecord, maxUnavailable: number): readonly string[] {
  const leftCordoned = record.nodes.filter((node) => node.unschedulable).map((node) => node.name);
  return [
    `  most workers unavailable at one instant: ${record.maxUnavailableSeen} (${maxUnavailable} allowed)`,
    `  left cordoned: ${leftCordoned.length === 0 ? 'none' : leftCordoned.join(', ')}`,
    ...(record.violations.length === 0
      ? ['  disruption budgets: respected at every instant']
      : record.violations.map((violation) => `  VIOLATED: ${violation}`)),
  ];
}
