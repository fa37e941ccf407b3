/** A config with every property of files, units and users, in each version of Ignition 3. */

import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';

export const VERSIONS = ['3.1.0', '3.2.0', '3.3.0', '3.4.0', '3.5.0'] as const;

export const KEYS = [
  'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5 one@example',
  'ssh-rsa AAAAB3Nza two@example',
];
/** Hash of the word `secret`; only its place matters. */
const PASSWORD_HASH =
  '$6$salt$IxDD3jeSOb5eB1CX5LBsqZFVkJdido3OUILO5Ifz5iwMuTS4XMS130MTSuDDl3aCI6WouIL9AjRbLCelDCy.g.';

const base64 = (bytes: Buffer | string): string => Buffer.from(bytes).toString('base64');
const sha512 = (bytes: Buffer | string): string =>
  `sha512-${createHash('sha512').update(bytes).digest('hex')}`;

const TEXT = 'first line\nsecond line with ü and %41\n';
const BYTES = Buffer.from(Array.from({ length: 512 }, (_, index) => index % 256));
const PACKED = gzipSync(TEXT);

const unitText = (name: string, more = ''): string =>
  `[Unit]\nDescription=${name}\n\n[Service]\nExecStart=/bin/true\n${more}\n[Install]\nWantedBy=multi-user.target\n`;

const files = [
  { path: '/etc/plain', contents: { source: `data:,${encodeURIComponent(TEXT)}` } },
  {
    path: '/etc/of/many/levels/base64',
    mode: 0o600,
    contents: { source: `data:text/plain;charset=utf-8;base64,${base64(TEXT)}` },
  },
  {
    path: '/etc/bytes',
    contents: { source: `data:application/octet-stream;base64,${base64(BYTES)}` },
  },
  { path: '/etc/no-media-type', contents: { source: `data:;base64,${base64(TEXT)}` } },
  { path: '/etc/with-charset', contents: { source: 'data:text/plain;charset=US-ASCII,a%20b%0A' } },
  {
    path: '/etc/packed',
    mode: 0o644,
    contents: {
      source: `data:;base64,${base64(PACKED)}`,
      compression: 'gzip',
      verification: { hash: sha512(TEXT) },
    },
  },
  { path: '/etc/not-packed', contents: { source: 'data:,as%20it%20is', compression: '' } },
  { path: '/etc/empty', mode: 0o400, contents: { source: 'data:,' } },
  { path: '/etc/without-contents', mode: 0o644, overwrite: false },
  { path: '/usr/local/bin/tool', mode: 0o755, contents: { source: 'data:,%23!%2Fbin%2Fsh%0A' } },
  {
    path: '/var/lib/of-core',
    user: { name: 'core' },
    group: { name: 'wheel' },
    contents: { source: 'data:,core' },
  },
  {
    path: '/var/lib/of-numbers',
    mode: 0o640,
    user: { id: 2 },
    group: { id: 10 },
    contents: { source: 'data:,2%3A10' },
  },
  { path: '/etc/motd', overwrite: true, contents: { source: 'data:,of%20the%20config%0A' } },
  { path: '/etc/issue', overwrite: false },
  { path: '/etc/hosts', overwrite: false, mode: 0o640, user: { name: 'core' }, group: { id: 10 } },
  {
    path: '/etc/modules',
    overwrite: false,
    append: [
      { source: 'data:,br_netfilter%0A' },
      { source: `data:;base64,${base64(gzipSync('overlay\n'))}`, compression: 'gzip' },
    ],
  },
  {
    path: '/etc/built-of-parts',
    contents: { source: 'data:,one%0A' },
    append: [{ source: 'data:,two%0A' }, { source: 'data:;base64,dGhyZWUK' }],
  },
  { path: '/etc/appended-to-nothing', append: [{ source: 'data:,only%20this' }] },
];

const units = [
  { name: 'new.service', enabled: true, contents: unitText('new') },
  { name: 'off.service', enabled: false, contents: unitText('off') },
  { name: 'unsaid.service', contents: unitText('unsaid') },
  {
    name: 'aliased.service',
    enabled: true,
    contents: `${unitText('aliased')}RequiredBy=sockets.target\nAlias=other-name.service\n`,
  },
  { name: 'hidden.service', mask: true, contents: unitText('hidden') },
  { name: 'chatty.service', enabled: false, mask: true },
  { name: 'shipped.service', enabled: false },
  {
    name: 'dormant.service',
    enabled: true,
    dropins: [{ name: '10-more.conf', contents: '[Service]\nNice=5\n' }],
  },
  {
    name: 'only-dropins.service',
    dropins: [{ name: '20-a.conf', contents: '[Unit]\nAfter=b.service\n' }],
  },
  { name: 'static.service', contents: '[Service]\nExecStart=/bin/true\n' },
  {
    name: 'every-hour.timer',
    enabled: true,
    contents: '[Timer]\nOnCalendar=hourly\n\n[Install]\nWantedBy=timers.target\n',
  },
  { name: 'empty.service', contents: '' },
];

const users = [{ name: 'core', sshAuthorizedKeys: KEYS, passwordHash: PASSWORD_HASH }];

export function firstConfig(version: string) {
  return {
    ignition: { version },
    passwd: { users },
    storage: { files },
    systemd: { units },
  };
}
