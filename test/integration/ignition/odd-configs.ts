/** Rare properties that two programs may interpret differently. */

import { KEYS } from './first-configs';

const SERVICE = '[Service]\nExecStart=/bin/true\n';
const of = (install: string): string => `${SERVICE}\n[Install]\n${install}\n`;

const service = {
  name: 'pair.service',
  enabled: true,
  contents: of('WantedBy=multi-user.target\nAlso=pair.socket'),
};
const socket = {
  name: 'pair.socket',
  contents: '[Socket]\nListenStream=/run/pair\n\n[Install]\nWantedBy=sockets.target\n',
};

const belowSsh = [
  { path: '/home/core/.ssh/config', mode: 0o600, contents: { source: 'data:,Host%20*%0A' } },
  {
    path: '/home/core/.ssh/authorized_keys.d/more',
    contents: { source: `data:,${encodeURIComponent(KEYS[0] ?? '')}` },
  },
];
const keysOfCore = { users: [{ name: 'core', sshAuthorizedKeys: KEYS }] };

const enabled = (install: string) => ({
  systemd: { units: [{ name: 'a.service', enabled: true, contents: of(install) }] },
});

export const ODD_CONFIGS: Readonly<Record<string, object>> = {
  'a unit that enables a later one with Also': { systemd: { units: [service, socket] } },
  'a unit that enables an earlier one with Also': { systemd: { units: [socket, service] } },
  'an enabled unit before a disabled one that names it with Also': {
    systemd: {
      units: [
        { ...socket, enabled: true },
        { ...service, enabled: false },
      ],
    },
  },
  'an enabled unit after a disabled one that names it with Also': {
    systemd: {
      units: [
        { ...service, enabled: false },
        { ...socket, enabled: true },
      ],
    },
  },
  'a unit that enables one of the distribution with Also': {
    systemd: {
      units: [
        { ...service, contents: of('WantedBy=multi-user.target\nAlso=dormant.service') },
        { name: 'dormant.service', dropins: [{ name: 'a.conf', contents: '[Unit]\nX-A=b\n' }] },
      ],
    },
  },
  'a quoted name in [Install]': enabled('WantedBy="q.target"'),
  'quoted names among others in [Install]': enabled(
    `WantedBy='one.target' "two.target" three.target\nRequiredBy=four\\x2dfive.target "s\\x69x.target"`,
  ),
  'files in the directory of SSH keys': { storage: { files: belowSsh } },
  'files beside SSH keys': { storage: { files: belowSsh.slice(0, 1) }, passwd: keysOfCore },
};
