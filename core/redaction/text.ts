/**
 * Takes secrets out of free text: logs, messages, command lines. Names, digests, sizes and addresses stay.
 *
 * A secret is known by its form (a key in PEM, a token of a known kind, a password hash, credentials in a URL), by the
 * name before it (`password: …`), or because it is a long mixture of letters and digits. In doubt it goes.
 */

import { isSecretName } from './secret-names';

export const GONE = '(redacted)';

type Rule = readonly [form: RegExp, instead: string | ((...parts: string[]) => string)];

/** Of a key whose end is missing, what looks like base 64 goes. */
const KEYS: readonly Rule[] = [
  [
    /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----(?:(?!-----BEGIN)[\s\S]){0,32768}?-----END [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----/g,
    '(redacted: private key)',
  ],
  [
    /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----(?:[A-Za-z0-9+/=\s]|\\[nr])*/g,
    '(redacted: private key)\n',
  ],
  [
    /\b(ssh-(?:rsa|dss|ed25519)|ecdsa-sha2-[a-z0-9-]+|sk-[a-z0-9-]+@openssh\.com)(\s+)AAAA[A-Za-z0-9+/=]+/g,
    `$1$2${GONE}`,
  ],
];

const TOKENS: readonly Rule[] = [
  [/\b(Bearer|Basic)(\s+)[A-Za-z0-9._~+/=-]{6,}/gi, `$1$2${GONE}`],
  [/\bslipway-join\.([0-9a-f]{10})\.[A-Za-z0-9_-]+/g, `slipway-join.$1.${GONE}`],
  // Of kubeadm and k3s.
  [/\b([a-z0-9]{6})\.[a-z0-9]{16}\b/g, `$1.${GONE}`],
  [/\bK10[0-9a-f]{32,}::[^\s"']+/g, GONE],
  // JSON Web Tokens, as service accounts have them.
  [/\beyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*)?/g, GONE],
  [
    /\b(?:(?:AKIA|ASIA)[0-9A-Z]{16}|gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abeprs]-[\w-]{10,}|AGE-SECRET-KEY-\w+|hvs\.[\w-]{16,})/g,
    GONE,
  ],
  // crypt(3): `$6$salt$hash`, `$y$j9T$salt$hash`.
  [/\$[a-z0-9-]{1,12}\$[./A-Za-z0-9=,+-]+(?:\$[./A-Za-z0-9=,+-]+)*/g, GONE],
];

const URLS: readonly Rule[] = [
  [/\bdata:[^\s,"'<>]{0,256},[^\s"'<>\\]*/gi, `data:${GONE}`],
  [/\b([a-z][a-z0-9+.-]{1,20}:\/\/)[^\s/?#"'<>]+@/gi, `$1${GONE}@`],
];

/** Quotes may be escaped, as in JSON within JSON: the last one has as many backslashes as the first. */
const QUOTED = /(?<depth>\\*)"[^\n]{0,16384}?(?<!\\)\k<depth>"|'[^'\n]{0,16384}'/;
/** After a colon, as in YAML and messages, up to the end of the line or the next field. */
const BARE = /[^\s,;&"'<>{}[\]\\]+(?:(?<=:\s*\S+)[ \t]+[^\n,;&"'{}[\]\\]+)?/;
const NAME = /(?<![\w.-])(-{0,2}[A-Za-z_][\w.-]{1,120})\\*["']?\s*[:=]\s*/g;
const VALUE = new RegExp(`(?:${QUOTED.source}|${BARE.source})`, 'y');

/** `--token VALUE` */
const FLAG = /(?<![\w.-])(--?[A-Za-z][\w-]{1,80})(\s+)("[^"\n]*"|'[^'\n]*'|[^\s,;"'-][^\s,;"']*)/g;

const RUN = /[A-Za-z0-9+/_=-]{32,}/g;

export function redactText(text: string): string {
  let plain = text;
  for (const [form, instead] of [...KEYS, ...URLS, ...TOKENS]) {
    plain = plain.replace(form, instead as string);
  }
  return withoutNamed(plain)
    .replace(FLAG, withoutValue)
    .replace(RUN, (run) => (isOpaque(run) ? GONE : run));
}

/** The value of a harmless name may hold another name: `failed: password=…`. */
function withoutNamed(text: string): string {
  let plain = '';
  let taken = 0;
  for (const { index, 0: start, 1: name = '' } of text.matchAll(NAME)) {
    if (index < taken || !isSecretName(name)) continue;
    VALUE.lastIndex = index + start.length;
    const value = VALUE.exec(text)?.[0];
    if (value === undefined) continue;
    plain += text.slice(taken, index + start.length) + gone(value);
    taken = index + start.length + value.length;
  }
  return plain + text.slice(taken);
}

function withoutValue(all: string, name: string, between: string, value: string): string {
  return isSecretName(name) ? `${name}${between}${gone(value)}` : all;
}

/** Quotes stay. */
function gone(value: string): string {
  const [quote = ''] = /^\\*["']/.exec(value) ?? [];
  return `${quote}${GONE}${quote}`;
}

/** Digests, UUIDs, paths and names of objects are not. */
function isOpaque(run: string): boolean {
  if (/^[0-9a-fA-F-]+$/.test(run)) return false;
  const parts = run.includes('/') && !/[+=]/.test(run) ? run.split('/') : [run];
  return parts.some((part) => (parts.length === 1 || part.length >= 24) && isMixed(part));
}

function isMixed(part: string): boolean {
  if (!/[0-9]/.test(part)) return false;
  if (/[a-z]/.test(part) && /[A-Z]/.test(part)) return true;
  return /^[a-z0-9]+$/.test(part) && /[g-z]/.test(part);
}
