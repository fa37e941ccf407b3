/** Temporal's sandbox gives this class to workflows; with Node's types, it has that of Node. */
declare class TextEncoder {
  encode(input: string): Uint8Array;
}
