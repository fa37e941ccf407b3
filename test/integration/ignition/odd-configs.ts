/** What few configs have, and two writers may understand in two ways. */

const SERVICE = '[Service]\nExecStart=/bin/true\n';
const of = (install: string): string => `${SERVICE}\n[Install]\n${install}\n`;

const enabled = (install: string) => ({
  systemd: { units: [{ name: 'a.service', enabled: true, contents: of(install) }] },
});

/** What is odd → the parts of the config. */
export const ODD_CONFIGS: Readonly<Record<string, object>> = {
  'a quoted name in [Install]': enabled('WantedBy="q.target"'),
  'quoted names among others in [Install]': enabled(
    `WantedBy='one.target' "two.target" three.target\nRequiredBy=four\\x2dfive.target "s\\x69x.target"`,
  ),
};
