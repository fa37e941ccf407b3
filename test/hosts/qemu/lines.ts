import { messageOf } from '../../../core/errors';
import { withDeadline } from '../machine/deadline';

/** An emulated machine on a busy machine. */
const LINE_PATIENCE_MS = 600_000;
const SHOWN = 25;

export interface Lines {
  all(): readonly string[];
  /**
   * From that line number on.
   *
   * @throws Error with the last lines, on timeout or at the end of the output
   */
  until(text: string, from?: number): Promise<string>;
  /** @throws as `until` */
  untilCount(text: string, count: number): Promise<void>;
  add(line: string): void;
  end(): void;
}

export function followLines(who: string): Lines {
  const lines: string[] = [];
  const waiting = new Set<() => void>();
  let isOver = false;
  const wake = (): void => {
    for (const look of [...waiting]) look();
  };
  const wait = async <T>(what: string, find: () => T | undefined): Promise<T> => {
    let look = (): void => undefined;
    const found = new Promise<T>((resolve, reject) => {
      look = () => {
        const value = find();
        if (value !== undefined) resolve(value);
        else if (isOver) reject(new Error('it went off'));
      };
    });
    waiting.add(look);
    look();
    try {
      return await withDeadline(`${who} says ${what}`, found, LINE_PATIENCE_MS);
    } catch (error) {
      const tail = lines.slice(-SHOWN).join('\n');
      throw new Error(`${who} never said ${what}: ${messageOf(error)}\n${tail}`, { cause: error });
    } finally {
      waiting.delete(look);
    }
  };
  return {
    all: () => lines,
    until: (text, from = 0) =>
      wait(`"${text}"`, () => lines.slice(from).find((line) => line.includes(text))),
    untilCount: async (text, count) => {
      await wait(`"${text}" ${count} times`, () =>
        lines.filter((line) => line.includes(text)).length >= count ? true : undefined,
      );
    },
    add: (line) => {
      lines.push(line);
      wake();
    },
    end: () => {
      isOver = true;
      wake();
    },
  };
}
