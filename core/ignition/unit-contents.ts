/**
 * Reads systemd unit files as far as Ignition's validation does: sections with options, and syntax
 * errors.
 *
 * @see MCO vendor/github.com/coreos/go-systemd/v22/unit/deserialize.go (7ff337a4)
 */

/** Sections that hold at least one option, or why the text is no unit file. */
type UnitContents =
  | { readonly sections: ReadonlySet<string>; readonly error?: undefined }
  | { readonly error: string };

/**
 * systemd truncates longer lines, so they are refused (as far as the reader's buffer sees them).
 */
const LINE_MAX = 2048;
const BUFFER = 4096;
const NEWLINE = 0x0a;

/**
 * @param garbage - how text after a section name is shown: quoted, or (specification 2) as the
 * numbers of its bytes
 */
export function readUnitContents(
  contents: string | undefined,
  garbage: 'quoted' | 'bytes' = 'quoted',
): UnitContents {
  if (contents === undefined || contents === '') return { sections: new Set() };
  const reader = new UnitReader(Buffer.from(contents), garbage);
  try {
    return { sections: reader.read() };
  } catch (error) {
    if (error instanceof UnitError) return { error: `invalid unit content: ${error.message}` };
    throw error;
  }
}

class UnitError extends Error {}

type Step = (() => Step) | undefined;

class UnitReader {
  readonly #bytes: Buffer;
  readonly #garbage: 'quoted' | 'bytes';
  readonly #sections = new Set<string>();
  #at = 0;
  /** Position of the original's buffered reader, which decides which long lines it sees. */
  #buffered = 0;

  constructor(bytes: Buffer, garbage: 'quoted' | 'bytes') {
    this.#bytes = bytes;
    this.#garbage = garbage;
  }

  read(): ReadonlySet<string> {
    let step: Step = () => this.#nextSection();
    while (step !== undefined) {
      this.#refuseLongLine();
      step = step();
    }
    return this.#sections;
  }

  #refuseLongLine(): void {
    if (this.#buffered - this.#at < LINE_MAX) return;
    const ahead = this.#bytes.subarray(this.#at, this.#at + LINE_MAX);
    if (!ahead.includes(NEWLINE) && !ahead.includes(0x0d)) {
      throw new UnitError(`line too long (max ${LINE_MAX} bytes)`);
    }
  }

  #nextSection(): Step {
    const character = this.#readByte();
    if (character === undefined) return undefined;
    if (character === '[') return () => this.#sectionName();
    if (isComment(character)) return () => this.#comment(() => this.#nextSection());
    return () => this.#nextSection();
  }

  #sectionName(): Step {
    const { line, found } = this.#readThrough(0x5d);
    if (!found) throw new UnitError('unable to find end of section');
    return () => {
      const garbage = trim(this.#readLine());
      if (garbage !== '') {
        throw new UnitError(`found garbage after section name : ${this.#show(garbage)}`);
      }
      return () => this.#nextInSection(line);
    };
  }

  #show(garbage: string): string {
    if (this.#garbage === 'quoted') return JSON.stringify(garbage);
    return `[${Buffer.from(garbage).join(' ')}]`;
  }

  #nextInSection(section: string): Step {
    const before = this.#at;
    const character = this.#readByte();
    if (character === undefined) return undefined;
    if (/\s/.test(character)) return () => this.#nextInSection(section);
    if (character === '[') return () => this.#sectionName();
    if (isComment(character)) return () => this.#comment(() => this.#nextInSection(section));
    this.#at = before;
    return () => this.#optionName(section);
  }

  #optionName(section: string): Step {
    for (;;) {
      const character = this.#readByte();
      if (character === undefined) throw new UnitError('EOF');
      if (character === '\n' || character === '\r') {
        throw new UnitError('unexpected newline encountered while parsing option name');
      }
      if (character === '=') return () => this.#optionValue(section);
    }
  }

  #optionValue(section: string): Step {
    const line = this.#readLine();
    if (trim(line) !== '' && line.endsWith('\\')) return () => this.#optionValue(section);
    this.#sections.add(section);
    return () => this.#nextInSection(section);
  }

  #comment(next: () => Step): Step {
    for (;;) {
      const line = this.#readLine();
      const end = line.endsWith(' ') ? line.slice(0, -1) : line;
      if (!end.endsWith('\\')) return next;
    }
  }

  #readByte(): string | undefined {
    if (this.#at >= this.#buffered) this.#fill();
    const byte = this.#bytes[this.#at];
    if (byte === undefined) return undefined;
    this.#at++;
    return String.fromCharCode(byte);
  }

  /** A line without its newline; at the end, the rest of the text less one carriage return. */
  #readLine(): string {
    const { line, found } = this.#readThrough(NEWLINE);
    return !found && line.endsWith('\r') ? line.slice(0, -1) : line;
  }

  #readThrough(delimiter: number): { readonly line: string; readonly found: boolean } {
    const start = this.#at;
    const index = this.#bytes.indexOf(delimiter, start);
    const end = index < 0 ? this.#bytes.length : index + 1;
    while (this.#buffered < end) {
      if (this.#buffered - this.#at >= BUFFER) this.#at = this.#buffered;
      this.#fill();
    }
    this.#at = end;
    return {
      line: this.#bytes.toString('utf8', start, index < 0 ? end : index),
      found: index >= 0,
    };
  }

  #fill(): void {
    this.#buffered = Math.min(this.#bytes.length, this.#at + BUFFER);
  }
}

function isComment(character: string): boolean {
  return character === '#' || character === ';';
}

function trim(line: string): string {
  return line.trim();
}
