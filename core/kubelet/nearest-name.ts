/** The name that a mistyped one may stand for. */

const MOST_CHANGES = 2;

/** The first of the nearest names; undefined when none is near. */
export function nearestName(name: string, names: readonly string[]): string | undefined {
  let nearest: string | undefined;
  let least = MOST_CHANGES + 1;
  for (const candidate of names) {
    const changes = distance(name.toLowerCase(), candidate.toLowerCase());
    if (changes < least) [nearest, least] = [candidate, changes];
  }
  return nearest;
}

/** Letters to insert, remove or replace. */
function distance(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > MOST_CHANGES) return MOST_CHANGES + 1;
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      const [left = 0, above = 0, diagonal = 0] = [next[j - 1], row[j], row[j - 1]];
      next.push(Math.min(left + 1, above + 1, diagonal + same));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
