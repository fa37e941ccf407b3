import type { MachineConfig } from '../../../../core/machine-config';
import { findingText } from '../../../../core/templates';
import {
  aControllerConfig,
  aPool,
  configsIn,
  FACTS,
  fileText,
  findingsIn,
  folder,
  ignitionOf,
  lookAt,
  ROLE,
} from './picture';

const file = (path: string, text: string): string =>
  `path: ${path}\ncontents:\n  inline: |\n    ${text}\n`;

const namesOf = (configs: readonly MachineConfig[]): readonly string[] =>
  configs.map(({ metadata }) => metadata.name).sort();

const BASE = {
  'all/common/base/files/a.yaml': file('/etc/a', 'all {{ pool }}'),
  'all/common/kubelet/files/k.yaml': file('/etc/k', '{{ clusterDNSIP }} {{ role }}'),
  'all/common/container-runtime/units/c.service.yaml':
    'name: c.service\nenabled: true\ncontents: |\n  [Service]\n  ExecStart=/bin/true\n',
};

test('generates nothing without the annotation', () => {
  const look = lookAt({ templates: folder(BASE), controllerConfig: aControllerConfig(FACTS, {}) });
  expect(look).toEqual({ objects: [], cluster: [] });
});

test('generates three MachineConfigs for a pool, owned by the ControllerConfig', () => {
  const look = lookAt({ templates: folder(BASE) });
  const configs = configsIn(look);
  expect(namesOf(configs)).toEqual([
    '00-worker',
    '01-worker-container-runtime',
    '01-worker-kubelet',
  ]);
  expect(configs[0]?.metadata).toEqual({
    name: '00-worker',
    labels: { [ROLE]: 'worker' },
    annotations: {
      'machineconfiguration.openshift.io/generated-by-controller-version': '1.0.0',
      'slipway.dev/templates': 'one',
    },
    ownerReferences: [
      {
        apiVersion: 'machineconfiguration.openshift.io/v1',
        kind: 'ControllerConfig',
        name: 'machine-config-controller',
        uid: 'u1',
        controller: true,
        blockOwnerDeletion: true,
      },
    ],
  });
  expect(fileText(configs[1], '/etc/k')).toBe('10.96.0.10 worker\n');
  expect(ignitionOf(configs[2]).systemd?.units).toEqual([
    { name: 'c.service', enabled: true, contents: '[Service]\nExecStart=/bin/true\n' },
  ]);
});

test('a later layer and the folder of a pool replace a template of the same name; an empty one removes it', () => {
  const templates = folder({
    ...BASE,
    'own/common/base/files/a.yaml': file('/etc/a', 'own'),
    'own/master/base/files/a.yaml': file('/etc/a', 'master'),
    'own/common/kubelet/files/k.yaml': ' \n',
  });
  const configs = configsIn(lookAt({ templates, pools: [aPool('master'), aPool('worker')] }));
  expect(configs.map((config) => fileText(config, '/etc/a'))).toEqual([
    'master\n',
    undefined,
    'own\n',
    undefined,
  ]);
  expect(namesOf(configs)).not.toContain('01-worker-kubelet');
});

test.each([
  ['selects the MachineConfigs of workers', ['worker', 'infra'], ['00-infra'], true],
  [
    'stands alone',
    ['infra'],
    ['00-infra', '01-infra-container-runtime', '01-infra-kubelet'],
    false,
  ],
  ['does not select its own role', ['worker'], [], true],
  ['selects neither', ['other'], [], false],
])('a custom pool that %s', (_, roles, expected, hasThoseOfWorker) => {
  const templates = folder({
    ...BASE,
    'own/infra/base/files/i.yaml': file('/etc/i', '{{ pool }} {{ role }}'),
  });
  const configs = configsIn(lookAt({ templates, pools: [aPool('infra', roles)] }));
  expect(namesOf(configs).filter((name) => name.includes('infra'))).toEqual(expected);
  // Also without a pool of the name worker.
  expect(namesOf(configs).includes('01-worker-kubelet')).toBe(hasThoseOfWorker);
  const own = configs.find(({ metadata }) => metadata.name === '00-infra');
  if (own !== undefined) expect(fileText(own, '/etc/i')).toBe('infra worker\n');
});

describe('what is in the cluster', () => {
  const templates = folder(BASE);
  const generated = configsIn(lookAt({ templates }));

  test('is left alone when it is right', () => {
    const { objects } = lookAt({ templates, machineConfigs: generated });
    expect(objects[0]?.writes.map((write) => write.do)).toEqual(['status']);
  });

  test('is put right when somebody edited it', () => {
    const edited = generated.map((config) => ({ ...config, spec: {} }));
    const { objects } = lookAt({ templates, machineConfigs: edited });
    expect(objects[0]?.writes.map((write) => write.do)).toEqual([
      'status',
      'replace',
      'replace',
      'replace',
      'status',
    ]);
  });

  test('goes when its pool or its templates are gone', () => {
    const { objects } = lookAt({ templates, machineConfigs: generated, pools: [aPool('master')] });
    const removed = objects[0]?.writes.flatMap((write) =>
      write.do === 'remove' ? [write.name] : [],
    );
    expect(removed).toEqual(['00-worker', '01-worker-kubelet', '01-worker-container-runtime']);
  });

  const ours = (config: MachineConfig | undefined) => {
    if (config === undefined) throw new Error('the templates generate one');
    return config.metadata;
  };
  const kubelet = ours(generated.find(({ metadata }) => metadata.name === '01-worker-kubelet'));
  const owners = kubelet.ownerReferences ?? [];

  test.each([
    ['a copy under another name', { ...kubelet, name: '50-my-kubelet' }],
    ['a copy for another role', { ...kubelet, labels: { [ROLE]: 'infra' } }],
    ['a copy without a role', { ...kubelet, labels: {} }],
    ['a copy without an owner', { ...kubelet, ownerReferences: [] }],
    [
      'one of another ControllerConfig',
      { ...kubelet, ownerReferences: owners.map((owner) => ({ ...owner, uid: 'u2' })) },
    ],
    [
      'one of another kind',
      { ...kubelet, ownerReferences: owners.map((owner) => ({ ...owner, kind: 'KubeletConfig' })) },
    ],
    ['one without the annotation', { ...kubelet, annotations: {} }],
  ])('%s stays when its pool is gone', (_, metadata) => {
    const machineConfigs = [{ metadata, spec: {} }];
    const { objects } = lookAt({ templates, machineConfigs, pools: [aPool('master')] });
    expect(objects[0]?.writes.filter((write) => write.do === 'remove')).toEqual([]);
  });

  const foreign: MachineConfig = { metadata: { name: '00-worker' }, spec: {} };

  test('of others is not replaced', () => {
    const look = lookAt({ templates, machineConfigs: [foreign] });
    expect(configsIn(look)).toEqual([]);
    expect(findingsIn(look)).toEqual([
      'metadata.annotations["slipway.dev/templates"]: machineconfig 00-worker exists, and these templates did not generate it; rename it to keep its files, or set the annotation slipway.dev/templates-take-over to "true" to replace it',
    ]);
  });

  test('of others is taken over with the flag', () => {
    const controllerConfig = aControllerConfig(FACTS, {
      'slipway.dev/templates': 'one',
      'slipway.dev/templates-take-over': 'true',
    });
    const { objects } = lookAt({ templates, machineConfigs: [foreign], controllerConfig });
    expect(objects[0]?.writes.map((write) => write.do)).toContain('replace');
  });
});

describe('conditions', () => {
  const conditionsOf = (look: ReturnType<typeof lookAt>) =>
    look.objects.flatMap(({ writes }) =>
      writes.flatMap((write) =>
        write.do === 'status'
          ? [write.conditions.map(({ type, status, message }) => `${type} ${status} ${message}`)]
          : [],
      ),
    );

  test('say that the controller runs, and then that it is done', () => {
    expect(conditionsOf(lookAt({ templates: folder(BASE) }))).toEqual([
      [
        'TemplateControllerRunning True syncing towards (3) generation using controller version 1.0.0',
      ],
      [
        'TemplateControllerCompleted True sync completed towards (3) generation using controller version 1.0.0',
        'TemplateControllerRunning False ',
        'TemplateControllerFailing False ',
      ],
    ]);
  });

  test('say why it fails; nothing is written half', () => {
    const templates = folder({
      ...BASE,
      'all/common/kubelet/files/wrong.yaml': file('/etc/x', '{{ baseDomain }}'),
    });
    const look = lookAt({ templates });
    expect(configsIn(look)).toEqual([]);
    expect(conditionsOf(look)).toEqual([
      [
        'TemplateControllerFailing True failed to syncing towards (3) generation using controller version 1.0.0: spec.dns.spec.baseDomain: is missing, and the template all/common/kubelet/files/wrong.yaml:4 inserts it; add it, or ask for it in the template: {% if baseDomain %}',
        'TemplateControllerCompleted False ',
        'TemplateControllerRunning False ',
      ],
    ]);
  });

  test('say what the API server refuses, once for all tries', () => {
    const [first] = lookAt({ templates: folder(BASE) }).objects;
    const [status] = first?.refusedBy('no') ?? [];
    if (status?.do !== 'status') throw new Error('a refusal is said in the status');
    const { conditions, observedGeneration } = status;
    expect(conditions[0]).toMatchObject({
      ...{ type: 'TemplateControllerFailing', status: 'True' },
      message: expect.stringMatching(/: no$/) as string,
    });
    const controllerConfig = { ...aControllerConfig(), status: { conditions, observedGeneration } };

    const again = lookAt({ templates: folder(BASE), controllerConfig });

    expect(again.objects[0]?.refusedBy('no')).toEqual([]);
    const writes = again.objects[0]?.writes.map((write) => write.do);
    expect(writes).toEqual(['create', 'create', 'create', 'status']);
    expect(conditionsOf(again).at(-1)).toContain('TemplateControllerFailing False ');
  });

  test('are not written again when they say it already', () => {
    const first = lookAt({ templates: folder(BASE) });
    const status = first.objects[0]?.writes.at(-1);
    if (status?.do !== 'status') throw new Error('a look ends with the status');
    const { conditions, observedGeneration } = status;
    const said = { ...aControllerConfig(), status: { conditions, observedGeneration } };
    const look = lookAt({
      templates: folder(BASE),
      machineConfigs: configsIn(first),
      controllerConfig: said,
    });
    expect(look.objects[0]?.writes).toEqual([]);
  });
});

test.each([
  [
    'an unknown flavour',
    aControllerConfig(FACTS, { 'slipway.dev/templates': 'two' }),
    '"two" is no flavour of the templates; write one of one',
  ],
  [
    'no platform',
    aControllerConfig({ clusterDNSIP: '10.0.0.1' }),
    'spec.infra.status.platformStatus.type: cannot generate MachineConfigs when no platformStatus.type is set; add it',
  ],
  [
    'a wrong address',
    aControllerConfig({ ...FACTS, clusterDNSIP: '10.96.0' }),
    'spec.clusterDNSIP: "10.96.0" is no IP address; write one address, such as 10.96.0.10',
  ],
])('%s is refused at its field', (_, controllerConfig, expected) => {
  const look = lookAt({ templates: folder(BASE), controllerConfig });
  expect(configsIn(look)).toEqual([]);
  expect(findingsIn(look).join('\n')).toContain(expected);
});

test('an unknown platform counts as none, with a warning', () => {
  const infra = { status: { platformStatus: { type: 'Mainframe' } } };
  const templates = folder({ 'all/common/base/files/p.yaml': file('/etc/p', '{{ platform }}') });
  const look = lookAt({ templates, controllerConfig: aControllerConfig({ ...FACTS, infra }) });
  expect(fileText(configsIn(look)[0], '/etc/p')).toBe('none\n');
  expect(look.objects[0]?.warnings[0]?.problem).toContain('"Mainframe" is no platform');
});

test('a trust bundle is not brought to the machines, with a warning', () => {
  const templates = folder(BASE);
  const controllerConfig = aControllerConfig({ ...FACTS, additionalTrustBundle: 'eA==' });
  expect(lookAt({ templates, controllerConfig }).objects[0]?.warnings.map(findingText)).toEqual([
    'spec.additionalTrustBundle: is not brought to the machines; write it into a MachineConfig, as the file /etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt',
  ]);
  expect(lookAt({ templates }).objects[0]?.warnings).toEqual([]);
});

test('a folder that cannot be read is a problem of the object', () => {
  const look = lookAt({ templates: { problem: 'the templates in /x cannot be read (ENOENT)' } });
  expect(findingsIn(look).join()).toContain('the templates in /x cannot be read (ENOENT)');
});
