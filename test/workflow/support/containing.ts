/** Matches any text with this part; typed as a string. */
export function containing(part: string): string {
  return expect.stringContaining(part) as string;
}
