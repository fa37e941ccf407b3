/** Findings of validation, and their text in Ignition's reports. */

import type { JsonPath, JsonSource } from './json-source';

export interface Finding {
  readonly severity: 'error' | 'warning';
  readonly path: JsonPath;
  readonly message: string;
  /** The finding is about the key, not its value. */
  readonly key?: boolean;
}

export function isFatal(findings: readonly Finding[]): boolean {
  return findings.some((finding) => finding.severity === 'error');
}

export function errorsOf(findings: readonly Finding[]): readonly Finding[] {
  return findings.filter((finding) => finding.severity === 'error');
}

/** One line per finding, each with a newline. Without a source, no positions. */
export function formatReport(findings: readonly Finding[], source?: JsonSource): string {
  return findings.map((finding) => `${formatFinding(finding, source)}\n`).join('');
}

function formatFinding(finding: Finding, source: JsonSource | undefined): string {
  const { severity, path, message } = finding;
  const where: string[] = path.length === 0 ? [] : [['$', ...path].join('.')];
  if (source !== undefined) {
    where.push(finding.key === true ? source.describeKey(path) : source.describe(path));
  }
  const at = where.length === 0 ? '' : ` at ${where.join(', ')}`;
  return `${severity}${at}: ${message}`;
}
