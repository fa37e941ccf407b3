/** `slipway doctor`. */

import { examine } from '../doctor/doctor';
import type { Finding } from '../doctor/finding';
import { EXIT, type ExitCode } from '../exit-codes';
import { type OutputFormat, printData } from '../output';
import type { CliCluster, CliContext } from '../ports';

/** Exits with 4 where something does not work. */
export async function doctor(
  context: Asked & Pick<CliContext, 'terminal'>,
  output: OutputFormat,
): Promise<ExitCode> {
  const { terminal } = context;
  const findings = await findingsOf(context);
  const problems = findings.filter(({ level }) => level === 'problem').length;
  if (output === 'json' || output === 'yaml') printData({ items: findings }, output, terminal);
  else terminal.out.write(findingsInWords(findings));
  return problems === 0 ? EXIT.OK : EXIT.FAILED;
}

type Asked = Pick<CliContext, 'now' | 'doctor'> & {
  cluster(): Promise<Pick<CliCluster, 'read'>>;
};

export async function findingsOf(context: Asked): Promise<readonly Finding[]> {
  return examine({
    cluster: await context.doctor.cluster(),
    view: async () => (await context.cluster()).read(),
    temporal: () => context.doctor.temporal(),
    nowMs: context.now(),
  });
}

export function findingsInWords(findings: readonly Finding[]): string {
  return `${[...findings.map(inWords), closingLine(findings)].join('\n')}\n`;
}

const MARK = { ok: 'ok      ', warning: 'WARNING ', problem: 'PROBLEM ' } as const;

function inWords({ level, object, says, mend }: Finding): string {
  const line = `${MARK[level]} ${object}: ${says}`;
  return mend === undefined ? line : `${line}\n          → ${mend}`;
}

function closingLine(findings: readonly Finding[]): string {
  const count = (wanted: Finding['level'], noun: string): string => {
    const found = findings.filter(({ level }) => level === wanted).length;
    return found === 1 ? `1 ${noun}` : `${found} ${noun}s`;
  };
  return `${count('problem', 'problem')}, ${count('warning', 'warning')}`;
}
