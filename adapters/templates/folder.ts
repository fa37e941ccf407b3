/** The folder of the templates, and its changes. */

import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { TemplateFile, TemplateFolder } from '../../core/templates';

/** Those that come with Slipway: beside its package.json, which is above the sources and above dist/. */
export function shippedTemplates(from: string = __dirname): string {
  const isRoot = existsSync(join(from, 'package.json')) || dirname(from) === from;
  return isRoot ? join(from, 'deploy', 'templates') : shippedTemplates(dirname(from));
}

/** The folder is small. Watching it would miss how a mounted ConfigMap changes. */
const LOOK_MS = 2_000;

/** Names that begin with a dot are left out: a mounted ConfigMap has some. */
export function readTemplateFolder(directory: string): TemplateFolder {
  try {
    return { files: filesBelow(directory, '') };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    return { problem: `the templates in ${directory} cannot be read (${code})` };
  }
}

function filesBelow(directory: string, below: string): readonly TemplateFile[] {
  const entries = readdirSync(join(directory, below)).filter((name) => !name.startsWith('.'));
  return entries.sort().flatMap((name): readonly TemplateFile[] => {
    const path = below === '' ? name : `${below}/${name}`;
    try {
      return [{ path, text: readFileSync(join(directory, path), 'utf8') }];
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EISDIR') throw error;
      return filesBelow(directory, path);
    }
  });
}

/** One that cannot be read may be on its way. */
function isAtRest(directory: string): boolean {
  try {
    const below = readdirSync(directory, { recursive: true, encoding: 'utf8' });
    // A copy may keep the other times of a file.
    const times = ['', ...below].map((path) => statSync(join(directory, path)).ctimeMs);
    return Date.now() - Math.max(...times) >= LOOK_MS;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    return false;
  }
}

/** Reads it again and again, until the signal aborts. A folder that is still being copied is not taken. */
export class WatchedTemplates {
  readonly #directory: string;
  readonly #listeners = new Set<() => void>();
  #current: TemplateFolder;
  /** What the last look saw, as JSON. */
  #seen: string;
  #settle: (() => void) | undefined;

  /** Waits for a folder that has changed a moment ago, until two looks in a row see the same. */
  static async open(
    directory: string,
    signal: AbortSignal,
    onWaiting: () => void = () => undefined,
  ): Promise<WatchedTemplates> {
    const watched = new WatchedTemplates(directory, signal);
    if (!isAtRest(directory) && !signal.aborted) {
      onWaiting();
      await new Promise<void>((resolve) => {
        watched.#settle = resolve;
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
    }
    return watched;
  }

  private constructor(directory: string, signal: AbortSignal) {
    this.#directory = directory;
    this.#current = readTemplateFolder(directory);
    this.#seen = JSON.stringify(this.#current);
    const timer = setInterval(() => this.look(), LOOK_MS);
    timer.unref();
    signal.addEventListener('abort', () => clearInterval(timer), { once: true });
  }

  get current(): TemplateFolder {
    return this.#current;
  }

  /** Tells of a change that two looks in a row see. */
  look(): void {
    const now = readTemplateFolder(this.#directory);
    const seen = JSON.stringify(now);
    const isSettled = seen === this.#seen;
    this.#seen = seen;
    if (!isSettled) return;
    this.#settle?.();
    if (seen === JSON.stringify(this.#current)) return;
    this.#current = now;
    for (const listener of this.#listeners) listener();
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
