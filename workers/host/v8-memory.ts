/** Memory of the process that every machine has, and that is at rest nearly all the time. */

import { setFlagsFromString } from 'node:v8';

/**
 * Has V8 collect before it lets the heap grow, and again when it is at rest. To be called before there is
 * much of a heap. Not on the command line: Node would then compile its own modules at every start, because
 * the code of them that it brings along is good for unchanged flags only.
 */
export function keepHeapSmall(): void {
  setFlagsFromString('--optimize-for-size');
}
