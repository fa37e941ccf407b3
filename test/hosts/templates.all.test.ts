/** The templates of the flavour kubeadm become units and files of a machine that boots with them. */

import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { repositoryRoot } from '../../tools/repository-root';
import { PATIENCE_MS } from './machine/deadline';
import { aroundAll } from './support/around-all';
import { temporaryDirectory } from './support/temporary-directory';
import { hostConfig } from './support/configs';
import { POOL } from './support/fleet';
import { startWorld, STORY_MS, type World } from './support/world';

const GROUP = 'machineconfiguration.openshift.io';
const CONTROLLER_CONFIG = `/apis/${GROUP}/v1/controllerconfigs/machine-config-controller`;
const IMAGE = join(repositoryRoot(), 'test/hosts/image/common');
const JOURNALD = 'suite/common/base/files/journald.conf.yaml';

/** What the machines of the suite have in other places, or otherwise, than a machine of kubeadm. */
const DROPIN = `[Service]
Environment="KUBELET_KUBECONFIG_ARGS=--kubeconfig=/etc/kubernetes/kubeconfig"
EnvironmentFile=-/etc/kubernetes/node.env
`;

const KUBELET_CONFIG = {
  apiVersion: `${GROUP}/v1`,
  kind: 'KubeletConfig',
  metadata: { name: 'story' },
  spec: {
    machineConfigPoolSelector: { matchLabels: { [`pools.operator.${GROUP}/${POOL}`]: '' } },
    autoSizingReserved: true,
    logLevel: 4,
    kubeletConfig: { maxPods: 37 },
  },
};

let folder = '';
let world: World;

aroundAll(async (lifetime) => {
  folder = await temporaryDirectory(lifetime, 'slipway-templates-');
  cpSync(join(repositoryRoot(), 'deploy/templates'), folder, { recursive: true });
  writeFileSync(join(folder, 'flavours.yaml'), 'suite: [common, kubeadm, suite]\n');
  const kubelet = `${ofImage('etc/kubernetes/kubelet.yaml')}clusterDNS: ['{{ clusterDNSIP }}']\n`;
  const layer = 'suite/common';
  write(`${layer}/kubelet/files/kubelet.conf.yaml`, '/etc/kubernetes/kubelet.conf', kubelet);
  const containerd = `${layer}/container-runtime/files/containerd.toml.yaml`;
  write(containerd, '/etc/containerd/config.toml', ofImage('etc/containerd/config.toml'));
  world = await startWorld(lifetime, {
    hosts: 1,
    policy: { verify: { readySeconds: 1 } },
    environment: { SLIPWAY_TEMPLATES_DIR: folder },
  });
  const labels = { [`pools.operator.${GROUP}/${POOL}`]: '' };
  const pool = `/apis/${GROUP}/v1/machineconfigpools/${POOL}`;
  await world.api.call('PATCH', pool, { metadata: { labels } });
  const dropins = [{ name: '16-suite.conf', contents: DROPIN }];
  const units = [{ name: 'kubelet.service', dropins }];
  await world.allUpdatedTo(await world.roll(hostConfig('50-suite', { units })));
});

function ofImage(path: string): string {
  return readFileSync(join(IMAGE, path), 'utf8');
}

/** JSON is YAML. */
function write(template: string, path: string, inline: string): void {
  const file = join(folder, template);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, JSON.stringify({ path, contents: { inline } }));
}

/** What the ControllerConfig says about its newest generation. */
async function said(type: string): Promise<string> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const { metadata, status } = await world.api.call<{
      readonly metadata: { readonly generation: number };
      readonly status?: {
        readonly observedGeneration?: number;
        readonly conditions?: readonly {
          readonly type: string;
          readonly status: string;
          readonly message: string;
        }[];
      };
    }>('GET', CONTROLLER_CONFIG);
    const found = status?.conditions?.find((one) => one.type === type && one.status === 'True');
    if (found !== undefined && status?.observedGeneration === metadata.generation)
      return found.message;
    if (performance.now() > deadline) throw new Error(`not said: ${JSON.stringify(status)}`);
  }
}

/** Returns the rendered config after a change, once the machine is on it. */
async function rolled(change: () => unknown): Promise<string> {
  const before = world.target();
  await change();
  await world.until('the pool has another config', () => world.target() !== before);
  await world.allUpdatedTo(world.target());
  return world.target();
}

const patched = (value: object) => world.api.call('PATCH', CONTROLLER_CONFIG, value);
const annotated = (annotations: object) => patched({ metadata: { annotations } });
const onMachine = (path: string) => world.machine.output('cat', path);
const kubelet = () =>
  world.machine.output('sh', '-c', 'tr "\\0" " " </proc/$(pidof kubelet)/cmdline');

test(
  'what is missing, and a MachineConfig of somebody else under one of the names, change nothing',
  async () => {
    const before = world.target();
    const platformStatus = { type: 'None' };
    await patched({ spec: { infra: { status: { platformStatus } } } });
    await annotated({ 'slipway.dev/templates': 'suite' });
    expect(await said('TemplateControllerFailing')).toContain('spec.clusterDNSIP: is missing');
    await patched({ spec: { clusterDNSIP: '10.96.0.10' } });
    expect(await said('TemplateControllerFailing')).toContain(`machineconfig 00-${POOL} exists`);
    expect(world.target()).toBe(before);
  },
  STORY_MS,
);

test(
  'with the flag, the machine boots with the units and files of the templates',
  async () => {
    await rolled(() => annotated({ 'slipway.dev/templates-take-over': 'true' }));
    expect(await said('TemplateControllerCompleted')).toContain('sync completed');
    const command = await kubelet();
    expect(command).toContain('--config=/etc/kubernetes/kubelet.conf');
    expect(command).toContain('--system-reserved=cpu=500m,memory=1Gi,ephemeral-storage=1Gi --v=2');
    expect(await onMachine('/etc/kubernetes/kubelet.conf')).toContain("clusterDNS: ['10.96.0.10']");
    expect(await onMachine('/etc/systemd/journald.conf.d/50-slipway.conf')).toContain(
      'Storage=persistent',
    );
    const failed = await world.machine.output('systemctl', 'list-units', '--failed', '--plain');
    expect(failed).toContain('0 loaded units listed');
  },
  STORY_MS,
);

test(
  'a changed template rolls through the pool; a wrong one changes nothing',
  async () => {
    const path = '/etc/systemd/journald.conf.d/50-slipway.conf';
    write(JOURNALD, path, '[Journal]\nStorage={{ nothing }}\n');
    expect(await said('TemplateControllerFailing')).toContain(
      `template ${JOURNALD}:1: there is no value nothing`,
    );
    await rolled(() => write(JOURNALD, path, '[Journal]\nStorage=volatile\n# {{ pool }}\n'));
    expect(await onMachine(path)).toBe(`[Journal]\nStorage=volatile\n# ${POOL}\n`);
  },
  STORY_MS,
);

test(
  'a KubeletConfig and the ControllerConfig change the same file of the kubelet',
  async () => {
    await rolled(() => world.fleet.manifests.applyObject(KUBELET_CONFIG));
    const sized = await onMachine('/run/node-sizing.env');
    const [, memory, cpu] = /MEMORY=(\d+Mi)\n.*CPU=(\d+m)\n/.exec(sized) ?? [];
    expect(await kubelet()).toContain(
      `--system-reserved=cpu=${cpu},memory=${memory},ephemeral-storage=1Gi --v=4`,
    );

    await rolled(() => patched({ spec: { clusterDNSIP: '10.96.0.11' } }));
    const conf = await onMachine('/etc/kubernetes/kubelet.conf');
    expect(conf).toContain('maxPods: 37');
    expect(conf).toContain('- 10.96.0.11');
  },
  STORY_MS,
);
