import { gzipSync } from 'node:zlib';
import { admissionProblems, type MachineConfigSpec } from '../../../../core/machine-config';
import { PLACEHOLDER } from '../../../../core/machine-config/admission-placeholders';
import { nodePorts } from '../../../conformance/render-ports';
import { files, ignition, machineConfig, units } from './builders';

const fieldsOf = (spec: MachineConfigSpec): readonly string[] =>
  admissionProblems([machineConfig('99-example', spec)], nodePorts).map(({ field, problem }) => {
    expect(problem).toContain(PLACEHOLDER);
    return field;
  });
const base64 = (bytes: Uint8Array | string): string =>
  `data:;base64,${Buffer.from(bytes).toString('base64')}`;
const file = (contents: object): MachineConfigSpec => ({
  config: files({ path: '/etc/a', contents }),
});
const TEXT = `S SLIPWAY server ${PLACEHOLDER} iburst`;
const KEY = { name: 'core', sshAuthorizedKeys: [`ssh-ed25519 ${PLACEHOLDER}`] };
const UNIT = { name: 'a.service', contents: `[Service]\nExecStart=${PLACEHOLDER}\n` };

describe('a placeholder that was not replaced is refused, as the one problem of its field', () => {
  test.each<[string, string, MachineConfigSpec]>([
    ['an image', 'osImageURL', { osImageURL: `registry.example.com/os@sha256:${PLACEHOLDER}` }],
    ['an extension', 'extensions[1]', { extensions: ['usbguard', PLACEHOLDER] }],
    ['a kernel argument', 'kernelArguments[0]', { kernelArguments: [`audit=${PLACEHOLDER}`] }],
    ['a unit', 'config.systemd.units[0].contents', { config: units(UNIT) }],
    [
      'an SSH key',
      'config.passwd.users[0].sshAuthorizedKeys[0]',
      { config: ignition({ passwd: { users: [KEY] } }) },
    ],
    [
      'a path',
      'config.storage.files[0].path',
      { config: files({ path: PLACEHOLDER, contents: { source: 'data:,' } }) },
    ],
    [
      'contents as they are',
      'config.storage.files[0].contents.source',
      file({ source: `data:,${encodeURIComponent(TEXT)}` }),
    ],
    [
      'contents in base64',
      'config.storage.files[0].contents.source',
      file({ source: base64(TEXT) }),
    ],
    [
      'contents in gzip',
      'config.storage.files[0].contents.source',
      file({ source: base64(gzipSync(TEXT)), compression: 'gzip' }),
    ],
  ])('%s', (_name, field, spec) => {
    expect(fieldsOf(spec)).toEqual([`spec.${field}`]);
  });
});
