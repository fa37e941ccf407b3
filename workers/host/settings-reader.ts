import { readFileSync } from 'node:fs';

/** Node's longest timer is 2^31 ms. */
const MOST_SECONDS = 1_000_000;

export class SettingsReader {
  readonly problems: string[] = [];
  constructor(private readonly options: Readonly<Record<string, unknown>>) {}

  /** @throws an Error named SettingsError that lists every problem */
  refuseProblems(): void {
    if (this.problems.length === 0) return;
    throw Object.assign(new Error(`settings cannot be used:\n  ${this.problems.join('\n  ')}`), {
      name: 'SettingsError',
      problems: this.problems,
    });
  }

  text(name: string): string | undefined {
    const value = this.options[name];
    if (value === undefined || value === '') return undefined;
    if (typeof value === 'string') return value;
    this.problems.push(`${name}: expected a text`);
    return undefined;
  }

  required(name: string, hint: string): string {
    const value = this.text(name);
    if (value === undefined && !this.problems.some((problem) => problem.startsWith(`${name}:`))) {
      this.problems.push(`${name}: is missing; ${hint}`);
    }
    return value ?? '';
  }

  /** Limited, because a timer of more than 24 days fires at once. */
  seconds(name: string, fallback: number, least = 0): number {
    const number = this.number(name, fallback, least);
    if (number <= MOST_SECONDS) return number;
    this.problems.push(`${name}: expected at most ${MOST_SECONDS} seconds, not ${number}`);
    return fallback;
  }

  /** @param least - smallest valid value */
  number(name: string, fallback: number, least = 0): number {
    const value = this.options[name];
    if (value === undefined || value === '') return fallback;
    const number = typeof value === 'number' ? value : Number(value);
    if (Number.isFinite(number) && number >= least) return number;
    this.problems.push(
      `${name}: expected a number of at least ${least}, not ${JSON.stringify(value)}`,
    );
    return fallback;
  }

  /** A text with commas, or a list of texts. */
  list(name: string): readonly string[] {
    const value = this.options[name];
    if (value === undefined) return [];
    const parts: readonly unknown[] = Array.isArray(value) ? value : [value];
    return parts.flatMap((part) => String(part).split(/[\s]+/)).filter((part) => part !== '');
  }

  url(name: string, required: boolean): string | undefined {
    const value = required
      ? this.required(name, 'for example https://slipway.example:22624')
      : this.text(name);
    if (value === undefined || value === '') return undefined;
    if (/^https:\/\/[^/]+/.test(value) && URL.canParse(value)) return value;
    this.problems.push(`${name}: expected an https URL, not ${JSON.stringify(value)}`);
    return undefined;
  }

  oneOf<Value extends string>(name: string, values: readonly Value[], fallback: Value): Value {
    const value = this.text(name);
    if (value === undefined) return fallback;
    const found = values.find((candidate) => candidate === value);
    if (found !== undefined) return found;
    this.problems.push(
      `${name}: expected one of ${values.join(', ')}, not ${JSON.stringify(value)}`,
    );
    return fallback;
  }

  file(name: string, fallback: string): string {
    const path = this.text(name) ?? fallback;
    this.read(name, path);
    return path;
  }

  /** A file that must exist if it is named. */
  readable(name: string): string | undefined {
    const file = this.text(name);
    if (file !== undefined) this.read(name, file);
    return file;
  }

  private read(name: string, file: string): void {
    try {
      readFileSync(file);
    } catch (error) {
      this.problems.push(`${name}: cannot read ${file} (${codeOf(error)})`);
    }
  }
}

export function codeOf(error: unknown): string {
  const hasCode = typeof error === 'object' && error !== null && 'code' in error;
  return hasCode ? String(error.code) : 'unreadable';
}
