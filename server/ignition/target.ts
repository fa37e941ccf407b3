/**
 * Parses the request target as Go's multiplexer does, on which MCO's server is built:
 * `/config/a/master` is master, `/config` redirects to `/config/`, `/%63onfig/master` is master,
 * `/config%2fmaster` nothing. A path with `//`, `.` or `..` redirects to its clean form.
 *
 * @see MCO pkg/server/api.go (7ff337a4), NewAPIServer
 */

type Target =
  | { readonly kind: 'config'; readonly pool: string }
  | { readonly kind: 'health' }
  /** Slipway's own. */
  | { readonly kind: 'host-worker'; readonly file: string }
  /** `*`: the server itself. */
  | { readonly kind: 'server' }
  | { readonly kind: 'redirect'; readonly location: string }
  | { readonly kind: 'nothing' }
  /** None, or one that cannot be decoded. */
  | { readonly kind: 'malformed' };

/** Every server has to accept scheme and host (RFC 9112, 3.2.2). */
const ABSOLUTE = /^https?:\/\/[^/?#]+/i;

/** @param url - the target in the request line */
export function readTarget(url: string): Target {
  if (url === '*') return { kind: 'server' };
  const isAbsolute = ABSOLUTE.test(url);
  const [own = '', query] = splitOnce(isAbsolute ? url.replace(ABSOLUTE, '') : url, '?');
  const path = isAbsolute && own === '' ? '/' : own;
  if (!path.startsWith('/')) return { kind: 'malformed' };
  if (!isDecodable(path)) return { kind: 'malformed' };
  // Before decoding: escaped dots and slashes are plain characters.
  const clean = cleanPath(path);
  const suffix = query === undefined ? '' : `?${query}`;
  const [first, ...others] = clean.slice(1).split('/').map(decodeURIComponent);
  const isAlone = others.length === 0;
  if (first === 'config' && isAlone) return redirect(`/config/${suffix}`);
  if (first === 'healthz' && isAlone) return { kind: 'health' };
  if (first === 'host-worker' && others.length === 1) {
    return { kind: 'host-worker', file: others[0] ?? '' };
  }
  // The pool name is decoded.
  if (first === 'config') return { kind: 'config', pool: lastElement(decodeURIComponent(clean)) };
  return { kind: 'nothing' };
}

/** Stays on this server: a browser reads a backslash as a slash. */
function redirect(location: string): Target {
  const safe = location.replace(/[^\x21-\x7e]|["<>\\^`{|}]/gu, encodeURIComponent);
  return { kind: 'redirect', location: safe };
}

/** Keeps a slash at the end. */
function cleanPath(path: string): string {
  const kept: string[] = [];
  const elements = path.split('/');
  for (const element of elements) {
    if (element === '' || element === '.') continue;
    if (element === '..') kept.pop();
    else kept.push(element);
  }
  if (kept.length === 0) return '/';
  return `/${kept.join('/')}${elements.at(-1) === '' ? '/' : ''}`;
}

function lastElement(path: string): string {
  return path.split('/').findLast((element) => element !== '') ?? '';
}

/** False for a broken escape and bytes that are not UTF-8. */
function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}

function splitOnce(text: string, separator: string): readonly [string, string?] {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}
