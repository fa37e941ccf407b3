/** The language: what templates may say, and where they are wrong. */

import {
  aControllerConfig,
  configsIn,
  FACTS,
  fileText,
  findingsIn,
  folder,
  ignitionOf,
  lookAt,
} from './picture';

const CONFIG = aControllerConfig({
  ...FACTS,
  proxy: { httpProxy: 'http://u:p%20w@proxy:3128', noProxy: 'a,b' },
  images: { infraImageKey: 'quay.io/pause:3' },
});
const AT = 'all/common/base/files/t.yaml';

const lookFile = (text: string, controllerConfig = CONFIG) =>
  lookAt({ templates: folder({ [AT]: text }), controllerConfig });

const inline = (text: string): string =>
  `path: /etc/t\ncontents:\n  inline: |\n${text.replace(/^/gm, '    ')}\n`;

function textOf(template: string, controllerConfig = CONFIG): string | undefined {
  const look = lookFile(template, controllerConfig);
  expect(findingsIn(look)).toEqual([]);
  return fileText(configsIn(look)[0], '/etc/t');
}

test('a line of nothing but a tag leaves no line', () => {
  const text = inline(
    "first\n{% if platform == 'none' %}\nsecond\n{% endif %}\n{% if baseDomain %}\nthird\n{% endif %}\nfourth",
  );
  expect(textOf(text)).toBe('first\nsecond\nfourth\n');
});

test('blanks beside a tag in a line stay', () => {
  expect(textOf(inline('a {% if noProxy %} b={{ noProxy }}{% endif %} c'))).toBe('a  b=a,b c\n');
});

test.each([
  [
    'yaml',
    "k: '{{ noProxy }}'\n    m: 1\n    gone: '{{ baseDomain | default: \"\" }}'",
    'k: a,b\nm: 1\n',
  ],
  ['json', "k: '{{ noProxy }}'", '{\n  "k": "a,b"\n}\n'],
  ['toml', "k: '{{ noProxy }}'\n    t: {b: true}", 'k = "a,b"\n\n[t]\n  b = true\n'],
  ['env', "K: '{{ noProxy }} \"$x'", 'K="a,b \\"\\$x"\n'],
])('data as %s', (format, data, expected) => {
  expect(textOf(`path: /etc/t\ncontents:\n  ${format}:\n    ${data}\n`)).toBe(expected);
});

test('whatever a value holds, data stays data', () => {
  const odd = aControllerConfig({ ...FACTS, networkType: `'"{:[%&*!|>#` });
  expect(textOf("path: /etc/t\ncontents:\n  json:\n    k: 'x{{ networkType }}'\n", odd)).toBe(
    `${JSON.stringify({ k: `x'"{:[%&*!|>#` }, null, 2)}\n`,
  );
});

test('a percent sign in a unit is no specifier', () => {
  const templates = folder({
    'all/common/base/units/u.yaml':
      'name: u.service\ndropins:\n  - name: p.conf\n    contents: |\n      [Service]\n      Environment="P={{ httpProxy }}"\n  - name: none.conf\n    contents: |\n      {% if baseDomain %}\n      [Service]\n      {% endif %}\n',
  });
  const [config] = configsIn(lookAt({ templates, controllerConfig: CONFIG }));
  expect(ignitionOf(config).systemd?.units).toEqual([
    {
      name: 'u.service',
      dropins: [
        { name: 'p.conf', contents: '[Service]\nEnvironment="P=http://u:p%%20w@proxy:3128"\n' },
      ],
    },
  ]);
});

test('a value that systemd would read as syntax is refused at its field', () => {
  const unit = 'name: u.service\ncontents: |\n  [Service]\n  Environment=A={{ networkType }}\n';
  const templates = folder({ 'all/common/base/units/u.yaml': unit });
  const controllerConfig = aControllerConfig({ ...FACTS, networkType: 'a;b' });
  expect(findingsIn(lookAt({ templates, controllerConfig }))).toEqual([
    'spec.networkType: has the character ;, which cannot stand where the template all/common/base/units/u.yaml:4 inserts it; write it without',
  ]);
});

test.each(['nothing at all', ' {% if baseDomain %}x{% endif %} '])(
  'a file of %s is left out',
  (text) => {
    const when = text.startsWith('nothing') ? 'when: \'{{ baseDomain | default: "" }}\'\n' : '';
    expect(configsIn(lookFile(`${when}${inline(text)}`))).toEqual([]);
  },
);

test.each([
  ['an unknown value', inline('a\n{{ nope }}'), '5: there is no value nope; write one of pool'],
  ['one that a condition hides', inline('{% if nope %}x{% endif %}'), '4: there is no value nope'],
  ['a tag that is not closed', inline('a\nb\n{% if pool %}'), '6: tag {%'],
  ['an unknown tag', inline("{% include 'x' %}"), '4: tag "include" not found'],
  ['a loop', inline('{% for one in pool %}{% endfor %}'), '4: tag "for" not found'],
  ['an unknown filter', inline('{{ pool | raw }}'), '4: undefined filter: raw'],
  ['a value in a script', inline('#!/bin/sh\necho {{ pool }}'), '3: a script cannot hold values'],
  ['an unknown field', 'path: /etc/t\nmod: 1\ncontents: {inline: x}\n', '2: unknown field mod'],
  ['no contents', 'path: /etc/t\n', '1: contents are missing'],
  [
    'contents of two formats',
    'path: /etc/t\ncontents: {inline: x, yaml: {}}\n',
    '2: contents are of no format, or of several',
  ],
  [
    'a mode that is none',
    "path: /etc/t\nmode: '0644'\ncontents: {inline: x}\n",
    '2: mode is no permission',
  ],
  ['braces without quotes', 'path: {{ pool }}\ncontents: {inline: x}\n', '1: '],
  ['what is no YAML', 'path: [\n', ': '],
  [
    'a list in TOML that it cannot hold',
    'path: /etc/t\ncontents:\n  toml:\n    k: [1]\n',
    '3: this cannot be written as toml: the list k',
  ],
  [
    'a name of a variable',
    'path: /etc/t\ncontents:\n  env:\n    a-b: x\n',
    '3: this cannot be written as env: a-b is no name of a variable',
  ],
])('%s is refused at its line', (_, template, expected) => {
  const look = lookFile(template);
  expect(configsIn(look)).toEqual([]);
  expect(findingsIn(look)[0]).toContain(`template ${AT}:`);
  expect(findingsIn(look)[0]).toContain(expected);
});

test.each([
  [
    'two templates of one file',
    { 'all/common/kubelet/files/u.yaml': inline('y') },
    'template all/common/kubelet/files/u.yaml:1: /etc/t is in the template all/common/base/files/t.yaml, too',
  ],
  [
    'a template in no folder of one',
    { 'all/common/t.yaml': inline('y') },
    'template all/common/t.yaml:1: no template is looked for here',
  ],
  [
    'a layer that is no folder',
    { 'flavours.yaml': 'one:\n  [all, gone]\n' },
    'template flavours.yaml:1: there is no folder gone',
  ],
  [
    'flavours that are no map',
    { 'flavours.yaml': '- one\n' },
    'template flavours.yaml:1: holds no flavours',
  ],
])('%s is refused', (_, more, expected) => {
  const look = lookAt({
    templates: folder({ [AT]: inline('x'), ...more }),
    controllerConfig: CONFIG,
  });
  expect(configsIn(look)).toEqual([]);
  expect(findingsIn(look)[0]).toContain(expected);
});

test.each([
  ['httpProxy', 'ftp://x', 'is no http:// or https:// URL'],
  ['httpProxy', 'http://a b', 'is no URL'],
  ['httpsProxy', 'http://x\n[Service]', 'is no URL'],
  ['noProxy', 'a, b', 'has a blank'],
])('the proxy setting %s: %s is refused', (name, value, expected) => {
  const proxy = { [name]: value };
  const look = lookFile(inline('x'), aControllerConfig({ ...FACTS, proxy }));
  expect(findingsIn(look)).toEqual([expect.stringContaining(`spec.proxy.${name}: ${expected}`)]);
  expect(findingsIn(look).join()).not.toContain(value);
});
