/** Answers that wait until something changes. A change counts from the moment an answer is held. */

import type { Socket } from 'node:net';

export class HeldAnswers {
  readonly #all = new Set<HeldAnswer>();

  /** Until its `release`. */
  hold(node: string): HeldAnswer {
    const held = new HeldAnswer(node, () => this.#all.delete(held));
    this.#all.add(held);
    return held;
  }

  /** Something has changed for these. */
  change(isMeant: (held: HeldAnswer) => boolean): void {
    for (const held of this.#all) if (isMeant(held)) held.change();
  }
}

export class HeldAnswer {
  /** In which the host was last; undefined = not known yet. */
  pool: string | undefined;
  #isChanged = false;
  #end: (() => void) | undefined;

  constructor(
    readonly node: string,
    readonly release: () => void,
  ) {}

  change(): void {
    this.#isChanged = true;
    this.#end?.();
  }

  /** Until a change since it is held, the client leaves, or the time in ms is over. */
  async wait(socket: Socket, withinMs: number): Promise<void> {
    if (this.#isChanged || socket.destroyed) return;
    await new Promise<void>((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        socket.removeListener('close', end);
        resolve();
      };
      const timer = setTimeout(end, withinMs);
      this.#end = end;
      socket.once('close', end);
    });
  }
}
