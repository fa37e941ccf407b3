/** Which node was the only one of its cluster: it is neither cordoned nor drained (I3 excepts it). */

export class OnlyNode {
  private name: string | undefined;
  /** Milliseconds; Infinity = it still is. */
  private until = -Infinity;

  constructor(private readonly nodes: ReadonlyMap<string, unknown>) {
    this.look(0);
  }

  /** After nodes have come or gone. */
  look(now: number): void {
    const [only, ...others] = this.nodes.keys();
    if (only !== undefined && others.length === 0) {
      this.name = only;
      this.until = Infinity;
    } else if (this.until === Infinity) {
      this.until = now;
    }
  }

  wasAfter(name: string, time: number): boolean {
    return this.name === name && this.until > time;
  }
}
