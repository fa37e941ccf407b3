/** What the kubelet's own code refuses. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { ensureKubeletValidation } from '../../../tools/kubelet-validation/program';

export interface Question {
  /** Without kind and apiVersion. */
  readonly document: Readonly<Record<string, unknown>>;
  /** As the flag `--system-reserved`. */
  readonly systemReserved?: Readonly<Record<string, string>>;
}

export interface Refusal {
  /** A field, or the part of the kubelet that checks several. */
  readonly check: string;
  readonly message: string;
}

export interface Gate {
  readonly name: string;
  readonly stage: string;
  readonly default: boolean;
  readonly locked: boolean;
  readonly dependsOn: readonly string[];
}

const KIND = { kind: 'KubeletConfiguration', apiVersion: 'kubelet.config.k8s.io/v1beta1' };

/** In the order of the questions; none = accepted. */
export async function refusalsOf(
  questions: readonly Question[],
): Promise<readonly (readonly Refusal[])[]> {
  const lines = questions.map(({ document, systemReserved }) =>
    JSON.stringify({ document: { ...KIND, ...document }, systemReserved }),
  );
  const answers = (await run([], `${lines.join('\n')}\n`)).trimEnd().split('\n');
  if (answers.length !== lines.length) {
    throw new Error(`${lines.length} questions have ${answers.length} answers`);
  }
  return answers.map((line) => (JSON.parse(line) as { refusals: readonly Refusal[] }).refusals);
}

export async function knownGates(): Promise<readonly Gate[]> {
  return JSON.parse(await run(['gates'], '')) as readonly Gate[];
}

async function run(args: readonly string[], input: string): Promise<string> {
  const child = spawn(await ensureKubeletValidation(), args, { stdio: ['pipe', 'pipe', 'pipe'] });
  const said = Promise.all([text(child.stdout), text(child.stderr)]);
  const written = new Promise<void>((resolve, reject) => {
    child.stdin.on('error', reject).end(input, resolve);
  });
  const [status] = (await once(child, 'close')) as [number | null];
  const [output, complaint] = await said;
  if (status !== 0) throw new Error(`exit status ${status}: ${complaint.slice(-2000)}`);
  await written;
  return output;
}
