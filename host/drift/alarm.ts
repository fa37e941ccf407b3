/** Wakes a loop for one of several reasons; keeps no process alive. */
export class Alarm {
  readonly #signal: AbortSignal;
  readonly #timers = new Map<string, { readonly at: number; readonly timer: NodeJS.Timeout }>();
  readonly #rung = new Set<string>();
  #wake: (() => void) | undefined;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener(
      'abort',
      () => {
        for (const { timer } of this.#timers.values()) clearTimeout(timer);
        this.#wake?.();
      },
      { once: true },
    );
  }

  /** An earlier time for this reason stays. */
  within(reason: string, ms: number): void {
    const at = performance.now() + ms;
    const known = this.#timers.get(reason);
    if (this.#signal.aborted || (known !== undefined && known.at <= at)) return;
    clearTimeout(known?.timer);
    const timer = setTimeout(() => {
      this.#timers.delete(reason);
      this.#rung.add(reason);
      this.#wake?.();
    }, ms);
    timer.unref();
    this.#timers.set(reason, { at, timer });
  }

  /** The reasons of the next ring; undefined when the signal has aborted. */
  async rings(): Promise<ReadonlySet<string> | undefined> {
    while (this.#rung.size === 0 && !this.#signal.aborted) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = undefined;
    }
    if (this.#signal.aborted) return undefined;
    const reasons = new Set(this.#rung);
    this.#rung.clear();
    return reasons;
  }
}
