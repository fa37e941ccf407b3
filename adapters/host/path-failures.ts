/** Failures of single paths do not stop the rest. */

import { messageOf } from '../../core/errors';
import { fewSentences } from '../../core/few';
import { hasCode } from './root-paths';

export class PathFailures {
  readonly #endsWhenFull: boolean;
  readonly #all = new Map<string, unknown>();

  /** @param options - `endsWhenFull`: a full disk is thrown at once */
  constructor({ endsWhenFull }: { readonly endsWhenFull: boolean }) {
    this.#endsWhenFull = endsWhenFull;
  }

  /** The first of a path counts. */
  note(path: string, error: unknown): void {
    if (this.#endsWhenFull && hasCode(error, 'ENOSPC', 'EDQUOT')) throw error;
    if (!this.#all.has(path)) this.#all.set(path, error);
  }

  async during(path: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.note(path, error);
    }
  }

  /** @throws an error naming the first paths, and the number of others */
  throwIfAny(): void {
    const [first] = this.#all;
    if (first === undefined) return;
    const told = [...this.#all].map(([path, error]) => textOf(path, error));
    const [path, cause] = first;
    throw Object.assign(new Error(fewSentences(told)), { path, cause });
  }
}

function textOf(path: string, error: unknown): string {
  const text = messageOf(error);
  return text.includes(path) ? text : `${path}: ${text}`;
}
