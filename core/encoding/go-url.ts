/** The part of Go's `net/url` that Ignition and the kubelet validate with: validity, scheme, query. */

export interface GoUrl {
  /** Lower case; empty for a relative reference. */
  readonly scheme: string;
  /** The text after the scheme when it does not begin with a slash. */
  readonly opaque: string;
  readonly rawQuery: string;
}

/** The parsed URL, or undefined where Go reports an error. */
export function parseGoUrl(text: string): GoUrl | undefined {
  const hash = text.indexOf('#');
  const url = hash < 0 ? text : text.slice(0, hash);
  const fragment = hash < 0 ? '' : text.slice(hash + 1);
  // eslint-disable-next-line no-control-regex -- control characters are exactly what is refused
  if (/[\x00-\x1f\x7f]/.test(url) || !isEscaped(fragment)) return undefined;
  if (url.startsWith(':')) return undefined;
  const match = /^([A-Za-z][A-Za-z0-9+\-.]*):/.exec(url);
  const scheme = (match?.[1] ?? '').toLowerCase();
  const rest = url.slice(match?.[0].length ?? 0);
  const question = rest.indexOf('?');
  const body = question < 0 ? rest : rest.slice(0, question);
  const rawQuery = question < 0 ? '' : rest.slice(question + 1);
  if (!body.startsWith('/')) {
    if (scheme !== '') return { scheme, opaque: body, rawQuery };
    if (url !== '*' && (body.split('/')[0] ?? '').includes(':')) return undefined;
  }
  if (!isHierarchy(scheme, body)) return undefined;
  return { scheme, opaque: '', rawQuery };
}

/** The values of a query parameter, as Go's `Query()`: malformed pairs are dropped. */
export function queryValues(rawQuery: string, name: string): readonly string[] {
  return rawQuery.split('&').flatMap((pair) => {
    if (pair === '' || pair.includes(';') || !isEscaped(pair)) return [];
    const equals = pair.indexOf('=');
    const key = equals < 0 ? pair : pair.slice(0, equals);
    if (key !== name) return [];
    return [equals < 0 ? '' : pair.slice(equals + 1)];
  });
}

function isHierarchy(scheme: string, body: string): boolean {
  const hasAuthority = body.startsWith('//') && (scheme !== '' || !body.startsWith('///'));
  if (!hasAuthority) return isEscaped(body);
  const slash = body.indexOf('/', 2);
  const authority = slash < 0 ? body.slice(2) : body.slice(2, slash);
  return isAuthority(scheme, authority) && (slash < 0 || isEscaped(body.slice(slash)));
}

function isAuthority(scheme: string, authority: string): boolean {
  const at = authority.lastIndexOf('@');
  const user = authority.slice(0, Math.max(0, at));
  if (!/^[A-Za-z0-9\-._:~!$&'()*+,;=%@]*$/.test(user) || !isEscaped(user)) return false;
  return isHost(scheme, authority.slice(at + 1));
}

function isHost(scheme: string, host: string): boolean {
  const open = host.lastIndexOf('[');
  if (open > 0) return false;
  if (open === 0) {
    const close = host.lastIndexOf(']');
    if (close < 0) return false;
    return isPort(host.slice(close + 1)) && isIPv6(host.slice(1, close));
  }
  const colon = host.indexOf(':');
  if (colon >= 0) {
    const strict = scheme === 'http' || scheme === 'https';
    if (!isPort(host.slice(strict ? colon : host.lastIndexOf(':')))) return false;
  }
  return isEscapedHost(host);
}

function isPort(port: string): boolean {
  return /^(:\d*)?$/.test(port);
}

function isEscaped(text: string): boolean {
  return !/%(?![0-9a-fA-F]{2})/.test(text);
}

/** In a host only non-ASCII bytes (and the percent sign) may be escaped. */
function isEscapedHost(host: string): boolean {
  if (!isEscaped(host)) return false;
  if (/%(?!25)[0-7]/.test(host)) return false;
  return /^[A-Za-z0-9\-._~!$&'()*+,;=:[\]<>"%\u0080-\uffff]*$/.test(host);
}

function isIPv6(text: string): boolean {
  const [address = '', zone] = text.split('%25');
  if (zone === '') return false;
  const match = /^(.*:)(\d{1,3}(?:\.\d{1,3}){3})$/.exec(address);
  if (match !== null && (match[2] ?? '').split('.').some((n) => Number(n) > 255)) return false;
  const groups = match === null ? address : `${match[1] ?? ''}0:0`;
  const halves = groups.split('::');
  if (halves.length > 2) return false;
  const parts = halves.flatMap((half) => (half === '' ? [] : half.split(':')));
  if (parts.some((part) => !/^[0-9a-fA-F]{1,4}$/.test(part))) return false;
  return halves.length === 2 ? parts.length < 8 : parts.length === 8;
}
