/** What goes into a bundle: everything is redacted here, so nobody can forget it. */

import { createHmac, randomBytes } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { cut } from '../../core/encoding/one-line';
import { messageOf } from '../../core/errors';
import { fewLines } from '../../core/few';
import { type IgnitionPorts, redactText, redactValue } from '../../core/redaction';
import type { Terminal } from '../terminal';
import type { Archive } from './archive';

/** Longer texts lose their beginning. */
const MOST_CHARACTERS = 4 * 1024 * 1024;
/** A config in gzip may be a bomb. */
const MOST_INFLATED_BYTES = 64 * 1024 * 1024;
const MOST_LEFT_OUT = 200;
const MOST_NAMED = 10;
/** The manifest has to fit. */
const LONGEST_REASON = 400;

interface LeftOut {
  readonly what: string;
  readonly why: string;
}

/** The last entry of a bundle, `manifest.json`. */
interface Manifest {
  readonly about: Readonly<Record<string, unknown>>;
  /** Files by folder. */
  readonly contains: Readonly<Record<string, number>>;
  readonly leftOut: readonly LeftOut[];
  readonly redacted: string;
}

const REDACTED =
  'Contents of files and units, password hashes, SSH keys, values of kernel arguments, variables and annotations with ' +
  'manifests, tokens, private keys, data URLs and credentials in URLs are replaced by "(redacted…)". Equal contents ' +
  'have equal fingerprints within this bundle; those of another bundle cannot be compared. Nothing of ' +
  'Secrets and ConfigMaps is in it.';

export class Bundle {
  readonly #archive: Archive;
  readonly #ports: IgnitionPorts;
  readonly #contains = new Map<string, number>();
  readonly #leftOut: LeftOut[] = [];

  constructor(archive: Archive) {
    this.#archive = archive;
    // A plain digest of a password would tell whoever guesses it.
    const salt = randomBytes(32);
    this.#ports = {
      gunzip: (bytes) => gunzipSync(bytes, { maxOutputLength: MOST_INFLATED_BYTES }),
      fingerprint: (contents) =>
        createHmac('sha256', salt).update(contents).digest('hex').slice(0, 16),
    };
  }

  /** Of a text, equal for equal ones. */
  fingerprint(text: string): string {
    return this.#ports.fingerprint(Buffer.from(text));
  }

  async json(path: string, value: unknown): Promise<void> {
    await this.#add(path, `${JSON.stringify(redactValue(value, this.#ports), null, 1)}\n`);
  }

  /** One object per line, of which only those are left that are redacted. */
  async lines(path: string, values: readonly unknown[]): Promise<void> {
    const lines = values.map((value) => JSON.stringify(redactValue(value, this.#ports)));
    await this.#add(path, lines.map((line) => `${line}\n`).join(''));
  }

  /** JSON, and lines that are JSON, are looked through as such. */
  async text(path: string, text: string): Promise<void> {
    const whole = path.endsWith('.json') ? parsed(text) : undefined;
    if (whole !== undefined) return this.json(path, whole);
    // A secret may go over several lines, so the text is looked through as a whole, too.
    const lines = text.split('\n').map((line) => this.#line(line));
    await this.#add(path, redactText(lines.join('\n')));
  }

  leaveOut(what: string, why: unknown): void {
    this.#leftOut.push({ what, why: cut(redactText(messageOf(why)), LONGEST_REASON) });
  }

  /** What it does not get is named, and the others go on. */
  async collect(what: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.leaveOut(what, error);
    }
  }

  /** Names what is missing, on standard error. */
  summarize({ err }: Pick<Terminal, 'err'>, bytes: number): void {
    for (const { what, why } of this.#leftOut.slice(0, MOST_NAMED)) {
      err.write(`not in it: ${what} (${why})\n`);
    }
    const more = this.#leftOut.length - MOST_NAMED;
    if (more > 0) err.write(`not in it: ${more} more, which manifest.json names\n`);
    const size = `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
    err.write(`${size}, redacted; look through it before you pass it on\n`);
  }

  /** @returns size of the file in bytes */
  async end(about: Manifest['about']): Promise<number> {
    const lines = this.#leftOut.map((one) => JSON.stringify(one));
    const shown = fewLines(lines, { most: MOST_LEFT_OUT });
    const manifest: Manifest = {
      about,
      contains: Object.fromEntries(this.#contains),
      leftOut: shown.map((line) =>
        line.startsWith('{') ? (JSON.parse(line) as LeftOut) : { what: line, why: '' },
      ),
      redacted: REDACTED,
    };
    return this.#archive.end('manifest.json', `${JSON.stringify(manifest, null, 2)}\n`);
  }

  #line(line: string): string {
    const value = line.startsWith('{') ? parsed(line) : undefined;
    return value === undefined ? line : JSON.stringify(redactValue(value, this.#ports));
  }

  async #add(path: string, contents: string): Promise<void> {
    const within = contents.slice(-MOST_CHARACTERS);
    if (within.length < contents.length) {
      this.leaveOut(path, `only the last ${MOST_CHARACTERS} characters are here`);
    }
    if (!(await this.#archive.add(path, within))) {
      this.leaveOut(path, 'the bundle has reached its size; --limit allows more');
      return;
    }
    const folder = path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '.';
    this.#contains.set(folder, (this.#contains.get(folder) ?? 0) + 1);
  }
}

/** Undefined = it is no JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
