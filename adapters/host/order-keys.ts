/**
 * The keys by which this machine knows the orders of its cluster: those that were put there when it was installed, and
 * what statements that they signed have made of them.
 */

import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '../../core/errors';
import { isRecord } from '../../core/is-record';
import { learnKeys, type OrderKeys, readOrderKeys, type SignedText } from '../../core/orders';
import { replaceFile } from './replace-file';

export const ORDER_KEYS_FILE = '/etc/slipway/order-keys.json';

export function learnedOrderKeysFile(root: string): string {
  return join(root, 'var/lib/slipway/order-keys.json');
}

/** A file that a person has changed since counts alone: what was learned under the old one is void. */
export class OrderKeyFiles {
  #last: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly pinnedFile: string,
    private readonly learnedFile: string,
    private readonly now: () => Date = () => new Date(),
  ) {}

  /** @throws an Error that names the file, and what is wrong with it */
  async known(): Promise<OrderKeys> {
    return (await this.#read()).keys;
  }

  /** Throws as `known`. */
  async learn(statements: readonly SignedText[]): Promise<OrderKeys> {
    const learning = this.#last.then(() => this.#learn(statements));
    // The next one waits only for the end.
    this.#last = learning.catch(() => undefined);
    return learning;
  }

  async #learn(statements: readonly SignedText[]): Promise<OrderKeys> {
    const { keys, pinned } = await this.#read();
    const learned = learnKeys(keys, statements, this.now());
    if (learned !== keys) {
      const record = { pinned, keys: JSON.stringify(learned) };
      await replaceFile(this.learnedFile, `${JSON.stringify(record)}\n`);
    }
    return learned;
  }

  async #read(): Promise<{ readonly keys: OrderKeys; readonly pinned: string }> {
    const text = await this.#pinnedText();
    const pinned = createHash('sha256').update(text).digest('hex');
    const learned = await readLearned(this.learnedFile, pinned);
    return { keys: learned ?? this.#parsed(text), pinned };
  }

  async #pinnedText(): Promise<string> {
    try {
      return await readFile(this.pinnedFile, 'utf8');
    } catch (error) {
      const why = `${this.pinnedFile} cannot be read: ${messageOf(error)}`;
      throw new Error(`${why}; write keys.json of ConfigMap slipway-order-keys there`, {
        cause: error,
      });
    }
  }

  #parsed(text: string): OrderKeys {
    try {
      return readOrderKeys(text);
    } catch (error) {
      throw new Error(`${this.pinnedFile}: ${messageOf(error)}`, { cause: error });
    }
  }
}

/** Undefined = nothing, or nothing that counts. */
async function readLearned(file: string, pinned: string): Promise<OrderKeys | undefined> {
  try {
    const record: unknown = JSON.parse(await readFile(file, 'utf8'));
    if (!isRecord(record) || record['pinned'] !== pinned) return undefined;
    return readOrderKeys(String(record['keys']));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new Error(`${file} cannot be read: ${messageOf(error)}; remove it`, { cause: error });
  }
}
