/** The templates that come with Slipway. */

import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { readYaml, readYamlDocument } from '../../../adapters/manifests';
import { fillTemplate, readTemplateFolder } from '../../../adapters/templates';
import { BUNDLE_PATH } from '../../../core/host-bundle';
import { KUBELET_CONF, strictKubeletConfigProblems } from '../../../core/kubelet';
import { decodeKubeletConfiguration } from '../../../core/kubelet/decode';
import { kubeletProblems } from '../../../core/kubelet/validation';
import { lookAtTemplates, type TemplateLook } from '../../../core/templates';
import { admissionProblems, type MachineConfig } from '../../../core/machine-config';
import { renderPorts } from '../../../controllers/render/render-ports';
import { repositoryRoot } from '../../../tools/repository-root';
import {
  aControllerConfig,
  aPool,
  fileText,
  findingsIn,
  ignitionOf,
  configsIn,
} from '../core/templates/picture';

const TEMPLATES = readTemplateFolder(join(repositoryRoot(), 'deploy/templates'));

const SPECS: Readonly<Record<string, object>> = {
  bare: {
    clusterDNSIP: '10.96.0.10',
    infra: { status: { platformStatus: { type: 'None' } } },
  },
  full: {
    clusterDNSIP: 'fd00::a',
    ipFamilies: 'DualStack',
    proxy: { httpProxy: 'http://u:%20@p:1', httpsProxy: 'http://p:2', noProxy: '.a,10.0.0.0/8' },
    images: { infraImageKey: 'registry.k8s.io/pause:3.10' },
    infra: { status: { platformStatus: { type: 'AWS' } } },
  },
};

/** Some certificate. */
const AUTHORITY = Buffer.from(rootCertificates[0] ?? '').toString('base64');

function configsOf(flavour: string, spec: string): readonly MachineConfig[] {
  const look = lookAtFlavour(flavour, {
    ...SPECS[spec],
    ...(flavour === 'coreos' ? { kubeAPIServerServingCAData: AUTHORITY } : {}),
  });
  expect(findingsIn(look)).toEqual([]);
  return configsIn(look);
}

function lookAtFlavour(flavour: string, spec: object): TemplateLook {
  const annotations = { 'slipway.dev/templates': flavour };
  return lookAtTemplates({
    controllerConfig: aControllerConfig(spec, annotations),
    pools: ['master', 'worker'].map((name) => aPool(name)),
    machineConfigs: [],
    templates: TEMPLATES,
    ports: { fill: fillTemplate, readYaml },
    ...{ version: '1.0.0', now: '2026-01-01T00:00:00Z' },
  });
}

test.each([
  [{}, 'is missing, and the template coreos/common/kubelet/files/kubelet.conf.yaml:14 inserts it'],
  [
    { kubeAPIServerServingCAData: 'eA==' },
    'holds no certificate in PEM; write certificates as PEM',
  ],
])(
  'without the authorities that the kubelet of coreos needs, %j, nothing is generated',
  (more, says) => {
    const look = lookAtFlavour('coreos', { ...SPECS['bare'], ...more });
    expect(configsIn(look)).toEqual([]);
    expect(findingsIn(look).join()).toContain(`spec.kubeAPIServerServingCAData: ${says}`);
  },
);

const FLAVOURS = ['coreos', 'kubeadm', 'k3s', 'rke2'];
const CASES = FLAVOURS.flatMap((flavour) =>
  Object.keys(SPECS).map((spec) => [flavour, spec] as const),
);

describe.each(CASES)('%s, %s', (flavour, spec) => {
  const configs = configsOf(flavour, spec);
  const byName = new Map(configs.map((config) => [config.metadata.name, config]));

  test('gives each pool its MachineConfigs', () => {
    const subjects = (pool: string) => [
      `00-${pool}`,
      `01-${pool}-container-runtime`,
      `01-${pool}-kubelet`,
    ];
    expect([...byName.keys()].sort()).toEqual(
      [...subjects('master'), ...subjects('worker')].sort(),
    );
  });

  test('every node can apply them', () => {
    for (const pool of ['master', 'worker']) {
      const own = configs.filter(({ metadata }) => metadata.name.includes(pool));
      expect(admissionProblems(own, renderPorts)).toEqual([]);
    }
  });

  test('the kubelet takes its configuration', () => {
    for (const pool of ['master', 'worker']) {
      const text = fileText(byName.get(`01-${pool}-kubelet`), KUBELET_CONF) ?? '';
      expect(strictKubeletConfigProblems(text, readYamlDocument)).toEqual([]);
      const decoded = decodeKubeletConfiguration(text, readYamlDocument);
      if ('error' in decoded) throw new Error(decoded.error);
      expect(kubeletProblems(decoded.configuration, {})).toEqual([]);
    }
  });

  test('no authority and no pull secret is in them', () => {
    const paths = configs.flatMap((config) =>
      (ignitionOf(config).storage?.files ?? []).map(({ path }) => path),
    );
    expect(paths.filter((path) => /\.(crt|pem|key)$|config\.json$|kubeconfig$/.test(path))).toEqual(
      [],
    );
  });

  test('units have no empty section, and no tag is left', () => {
    for (const config of configs) {
      for (const { contents = '', dropins = [] } of ignitionOf(config).systemd?.units ?? []) {
        for (const text of [contents, ...dropins.map((one) => one.contents ?? '')]) {
          expect(text).not.toMatch(/\{[{%]/);
          expect(text).not.toMatch(/^\[\w+\]\n(\n|\[|$)/m);
        }
      }
    }
  });
});

function kubeletConfigOf(flavour: string): MachineConfig | undefined {
  return configsOf(flavour, 'bare').find(({ metadata }) => metadata.name === '01-worker-kubelet');
}

function unitText(config: MachineConfig | undefined): string {
  const unit = ignitionOf(config).systemd?.units?.find(({ name }) => name === 'kubelet.service');
  return [unit?.contents, ...(unit?.dropins ?? []).map(({ contents }) => contents)].join('');
}

test.each(['coreos', 'kubeadm'])('the kubelet of %s reads what KubeletConfigs write', (flavour) => {
  const text = unitText(kubeletConfigOf(flavour));
  for (const part of [
    '--config=/etc/kubernetes/kubelet.conf',
    '--v=${KUBELET_LOG_LEVEL}',
    'EnvironmentFile=-/etc/node-sizing-enabled.env\nEnvironmentFile=-/run/node-sizing.env',
    'cpu=${SYSTEM_RESERVED_CPU},memory=${SYSTEM_RESERVED_MEMORY},ephemeral-storage=${SYSTEM_RESERVED_ES}',
  ]) {
    expect(text).toContain(part);
  }
});

test.each(['coreos', 'kubeadm'])('the kubelet of %s trusts what the bundle writes', (flavour) => {
  const text = fileText(kubeletConfigOf(flavour), KUBELET_CONF) ?? '';
  const decoded = decodeKubeletConfiguration(text, readYamlDocument);
  if ('error' in decoded) throw new Error(decoded.error);
  expect(decoded.configuration).toMatchObject({
    authentication: { x509: { clientCAFile: BUNDLE_PATH.KUBELET_AUTHORITY } },
  });
});

describe('the authority of a machine of kubeadm', () => {
  let root = '';
  const own = () => join(root, BUNDLE_PATH.KUBELET_AUTHORITY);
  const ofKubeadm = () => join(root, '/etc/kubernetes/pki/ca.crt');

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'slipway-kubelet-'));
    mkdirSync(join(root, 'etc/kubernetes/pki'), { recursive: true });
  });

  afterEach(() => rmSync(root, { recursive: true, force: true }));

  /** What systemd runs before the kubelet, below a folder. */
  function start(): number | null {
    const line = /^ExecStartPre=-\/bin\/sh -c '(.*kubelet-ca\.crt.*)'$/m;
    const command = line.exec(unitText(kubeletConfigOf('kubeadm')))?.[1];
    if (command === undefined) throw new Error('no command whose failure systemd ignores');
    const script = command.replaceAll('$$', '$').replaceAll('/etc/', `${root}/etc/`);
    return spawnSync('/bin/sh', ['-c', script]).status;
  }

  test('is that of kubeadm, where no bundle wrote one', () => {
    writeFileSync(ofKubeadm(), 'kubeadm');
    expect(start()).toBe(0);
    expect(readFileSync(own(), 'utf8')).toBe('kubeadm');
    expect(statSync(own()).mode & 0o777).toBe(0o644);
  });

  test('stays as the bundle wrote it', () => {
    writeFileSync(ofKubeadm(), 'kubeadm');
    writeFileSync(own(), 'bundle');
    expect(start()).toBe(0);
    expect(readFileSync(own(), 'utf8')).toBe('bundle');
  });

  test('is none without both', () => {
    start();
    expect(existsSync(own())).toBe(false);
  });
});
