/** Asks the parsers of CRI-O and containerd about files of registries. */

import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import type { GeneratedFile } from '../../../core/generated-configs';
import { run } from '../../../tools/binaries/run-program';

export interface ParserAnswer {
  readonly registriesError?: string;
  readonly attachmentsError?: string;
  readonly search: readonly string[];
  /** By image. */
  readonly images: Readonly<Record<string, ImageAnswer>>;
  /** By path. */
  readonly policies: Readonly<Record<string, PolicyAnswer>>;
}

interface ImageAnswer {
  readonly crio: { readonly sources: readonly CrioSource[]; readonly error?: string };
  /** `error` is there for every image, since no host has it. */
  readonly containerd: { readonly asked: readonly Request[]; readonly error: string };
}

interface CrioSource {
  readonly name: string;
  readonly insecure: boolean;
  readonly blocked: boolean;
}

interface Request {
  readonly url: string;
  readonly verified: boolean;
}

interface PolicyAnswer {
  readonly error?: string;
  readonly scopes: Readonly<Record<string, string>>;
  readonly requirements: Readonly<Record<string, readonly { readonly type: string }[]>>;
}

interface Question {
  readonly program: string;
  /** An empty folder that becomes the root of a machine. */
  readonly root: string;
  readonly files: readonly GeneratedFile[];
  readonly images?: readonly string[];
}

/** Writes the files, and reads them as a machine would. */
export async function askParsers(question: Question): Promise<ParserAnswer> {
  const { program, root, files, images = [] } = question;
  for (const { path, contents } of files) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), contents);
  }
  const policies = files.map(({ path }) => path).filter((path) => path.endsWith('.json'));
  const asked = join(root, 'question.json');
  await writeFile(asked, JSON.stringify({ root, images, policies }));
  return JSON.parse(await run(program, [asked], process.env)) as ParserAnswer;
}
