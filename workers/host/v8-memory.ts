import { setFlagsFromString } from 'node:v8';

/**
 * Makes V8 collect before it lets the heap grow, and when it is idle, as it nearly always is. Not
 * on the command line: with changed flags, Node compiles its own modules at every start.
 */
export function keepHeapSmall(): void {
  setFlagsFromString('--optimize-for-size');
}
