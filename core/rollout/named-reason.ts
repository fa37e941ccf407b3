/** A node, and why it is as it is. */
export interface NamedReason {
  readonly node: string;
  readonly reason: string;
}
