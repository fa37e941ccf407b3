/**
 * Nodes that serve in the middle of an update of which the rollout knows nothing: of whom it is asked whether one works on
 * them, and on whom none does.
 */
export class HalfDoneNodes {
  readonly unmet = new Set<string>();
  private readonly alone = new Set<string>();

  /**
   * @param seen - whom the last look shows half done, and of whom no update is known
   * @returns those that have not been asked about
   */
  toMeet(seen: readonly string[]): readonly string[] {
    for (const node of this.alone) if (!seen.includes(node)) this.alone.delete(node);
    return seen.filter((node) => !this.alone.has(node) && !this.unmet.has(node));
  }

  asking(nodes: readonly string[]): void {
    for (const node of nodes) this.unmet.add(node);
  }

  answered(node: string, runs: boolean): void {
    this.unmet.delete(node);
    if (!runs) this.alone.add(node);
  }
}
