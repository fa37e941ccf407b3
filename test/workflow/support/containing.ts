/** Matches any text with this part; typed, so that it fits where a string is expected. */
export function containing(part: string): string {
  return expect.stringContaining(part) as string;
}
