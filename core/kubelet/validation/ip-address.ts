/** IP addresses, as Go reads them. */

/** @see k8s.io/utils net, ParseIPSloppy: numbers of IPv4 may begin with zeros */
export function isAddress(text: string): boolean {
  return isV4(text) || isV6(text);
}

function isV4(text: string): boolean {
  const parts = text.split('.');
  return parts.length === 4 && parts.every((part) => /^\d+$/.test(part) && Number(part) <= 255);
}

function isV6(text: string): boolean {
  const match = /^(.*:)([^:]*\.[^:]*)$/.exec(text);
  if (match !== null && !isV4(match[2] ?? '')) return false;
  const halves = (match === null ? text : `${match[1] ?? ''}0:0`).split('::');
  if (halves.length > 2) return false;
  const groups = halves.flatMap((half) => (half === '' ? [] : half.split(':')));
  if (groups.some((group) => !/^[0-9a-fA-F]{1,4}$/.test(group))) return false;
  return halves.length === 2 ? groups.length < 8 : groups.length === 8;
}
