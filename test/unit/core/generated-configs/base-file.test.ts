import { gunzipSync } from 'node:zlib';
import { baseFile } from '../../../../core/generated-configs';
import type { MachineConfig } from '../../../../core/machine-config';
import { LABEL } from '../../../../core/names';

const FILE = { subject: 'kubelet', path: '/etc/kubernetes/kubelet.conf' } as const;

/** @param texts - name of the MachineConfig → its file, or none */
function found(
  { name, roles }: { readonly name: string; readonly roles: readonly string[] },
  texts: Readonly<Record<string, string | undefined>>,
) {
  const machineConfigSelector = {
    matchExpressions: [{ key: LABEL.ROLE, operator: 'In', values: roles }],
  };
  const configNamed = (config: string): MachineConfig | undefined =>
    Object.hasOwn(texts, config) ? configOf(config, texts[config]) : undefined;
  const pool = { metadata: { name }, spec: { machineConfigSelector } };
  return baseFile(pool, FILE, { configNamed, gunzip: (bytes) => gunzipSync(bytes) });
}

function configOf(name: string, text: string | undefined): MachineConfig {
  const files = text === undefined ? [] : [{ path: FILE.path, contents: { source: text } }];
  return {
    metadata: { name },
    spec: { config: { ignition: { version: '3.5.0' }, storage: { files } } },
  };
}

const WORKER = { '01-worker-kubelet': 'data:,worker' };
const OWN = { '01-infra-kubelet': 'data:,own' };
const WITHOUT = { '01-infra-kubelet': undefined };
const INHERITS = { name: 'infra', roles: ['worker', 'infra'] };
const ALONE = { name: 'infra', roles: ['infra'] };

test.each([
  ['its own wins', INHERITS, { ...WORKER, ...OWN }, { text: 'own', isOwn: true }],
  ['that of worker without', INHERITS, WORKER, { text: 'worker', isOwn: false }],
  ['or if its own has no such file', INHERITS, { ...WORKER, ...WITHOUT }, { text: 'worker' }],
  ['its own, alone', ALONE, { ...WORKER, ...OWN }, { text: 'own', isOwn: true }],
  ['that of worker, alone', ALONE, WORKER, { text: 'worker', isOwn: false }],
  [
    'its own is not selected',
    { ...ALONE, roles: ['worker'] },
    { ...WORKER, ...OWN },
    { isOwn: false },
  ],
])('%s', (_, pool, texts, expected) => {
  expect(found(pool, texts)).toMatchObject(expected);
});

test.each([
  [
    'alone, its own lacks the file',
    ALONE,
    { ...WORKER, ...WITHOUT },
    '01-infra-kubelet has no file',
  ],
  ['alone, without any', ALONE, {}, '01-infra-kubelet is missing'],
  ['without any', INHERITS, {}, '01-worker-kubelet is missing'],
  ['master', { name: 'master', roles: ['master'] }, WORKER, '01-master-kubelet is missing'],
  [
    'one that cannot be read is no missing one',
    INHERITS,
    { ...WORKER, '01-infra-kubelet': 'https://example.com/kubelet.conf' },
    '01-infra-kubelet: /etc/kubernetes/kubelet.conf cannot be read',
  ],
])('says what is wrong: %s', (_, pool, texts, problem) => {
  expect(found(pool, texts)).toMatchObject({ problem: expect.stringContaining(problem) as string });
});
