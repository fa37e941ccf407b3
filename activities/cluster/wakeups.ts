/** Wakes a loop on a ring or a deadline; no ring is lost. */
export class Wakeups {
  readonly #signal: AbortSignal;
  #pending = false;
  #wake: (() => void) | undefined;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener('abort', this.ring);
  }

  readonly ring = (): void => {
    this.#pending = true;
    this.#wake?.();
  };

  /** Waits for a ring (also one before this call) or the deadline. @throws when aborted */
  async wait(maxMs: number): Promise<void> {
    this.#signal.throwIfAborted();
    if (!this.#pending) {
      let timer: NodeJS.Timeout | undefined;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        timer = setTimeout(resolve, Math.max(0, maxMs));
      });
      clearTimeout(timer);
      this.#wake = undefined;
    }
    this.#pending = false;
    this.#signal.throwIfAborted();
  }

  close(): void {
    this.#signal.removeEventListener('abort', this.ring);
  }
}
