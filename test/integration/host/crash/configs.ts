/** Configs of the crash tests; between them is every kind of change of an update. */

import { aConfig, aFile } from '../../../unit/host/a-host';

const unit = (name: string, text: string, more: object = {}) => ({
  name,
  contents: `[Service]\nExecStart=${text}\n[Install]\nWantedBy=multi-user.target\n`,
  enabled: true,
  ...more,
});

const IMAGE = (digit: string) => `os@sha256:${digit.repeat(64)}`;

const OLD_PARTS = {
  osImageURL: IMAGE('1'),
  kernelArguments: ['quiet'],
};
const OLD_FILES = [
  aFile('/etc/changed', 'before'),
  aFile('/etc/removed', 'gone soon'),
  aFile('/etc/was-there', 'ours'),
  { path: '/etc/grows', append: [{ source: 'data:,old%0A' }] },
  aFile('/etc/big', 'b'.repeat(4_500), 0o4755),
  aFile('/etc/owner-alone', 'the same'),
  aFile('/etc/attributes-alone', 'as the image has it'),
];
const OLD_UNITS = [unit('stays.service', '/bin/a'), unit('goes.service', '/bin/b')];

/**
 * Comes before the old config: it writes over an attribute that the old config, with the same bytes as the image,
 * does not restore. The new config drops the file and changes nothing else of it.
 */
export const FIRST = aConfig('rendered-worker-first', {
  ...OLD_PARTS,
  config: { storage: { files: [aFile('/etc/attributes-alone', 'other')] } },
});

export const OLD = aConfig('rendered-worker-old', {
  ...OLD_PARTS,
  config: {
    storage: { files: OLD_FILES },
    systemd: { units: OLD_UNITS },
    passwd: { users: [{ name: 'core', sshAuthorizedKeys: ['ssh-ed25519 AAAA old'] }] },
  },
});

/** All kinds: files, links, directories, units, keys, a password, image, arguments, extensions. */
export const NEW = aConfig('rendered-worker-new', {
  osImageURL: IMAGE('2'),
  kernelArguments: ['nosmt'],
  extensions: ['usbguard'],
  config: {
    storage: {
      files: [
        aFile('/etc/changed', 'after', 0o600),
        aFile('/etc/new/deep/file', 'new'),
        aFile('/etc/os-release', 'claimed'),
        { path: '/etc/grows', append: [{ source: 'data:,new%0A' }, { source: 'data:,er' }] },
        { path: '/etc/sudoers', append: [{ source: 'data:,more' }] },
        aFile('/etc/big', 'c'.repeat(4_600)),
        aFile('/etc/was-a-link', 'a file'),
        aFile('/opt/behind-a-link', 'new'),
        { ...aFile('/etc/owned', 'by core'), user: { id: 1000 }, group: { id: 1000 } },
        { ...aFile('/etc/owner-alone', 'the same'), user: { id: 1000 }, group: { id: 1000 } },
      ],
    },
    systemd: {
      units: [
        unit('stays.service', '/bin/c', { dropins: [{ name: '10-a.conf', contents: '[Unit]\n' }] }),
        { name: 'masked.service', mask: true },
        { name: 'vendor.service', dropins: [{ name: '20-b.conf', contents: '[Unit]\n' }] },
        unit('off.service', '/bin/d', { enabled: false }),
      ],
    },
    passwd: {
      users: [
        { name: 'core', passwordHash: '$6$abc', sshAuthorizedKeys: ['ssh-ed25519 AAAA new'] },
      ],
    },
  },
});

/** A change that takes effect by a reload. */
export const RELOADED = aConfig('rendered-worker-reloaded', {
  ...OLD_PARTS,
  config: {
    storage: { files: [aFile('/etc/changed', 'reloaded'), ...OLD_FILES.slice(1)] },
    systemd: { units: OLD_UNITS },
    passwd: { users: [{ name: 'core', sshAuthorizedKeys: ['ssh-ed25519 AAAA newer'] }] },
  },
});

/** Ordered after the update before it was lost: other files, and the image that both replace. */
export const THIRD = aConfig('rendered-worker-third', {
  osImageURL: IMAGE('3'),
  config: {
    storage: { files: [aFile('/etc/changed', 'third'), aFile('/etc/third', 'new')] },
    systemd: { units: [unit('stays.service', '/bin/e')] },
  },
});

export const CONFIGS = [FIRST, OLD, NEW, RELOADED, THIRD];
