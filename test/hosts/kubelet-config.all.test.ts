/** A KubeletConfig changes what the kubelet of a machine runs with; a wrong one changes nothing; its removal restores. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '../../tools/repository-root';
import { PATIENCE_MS } from './machine/deadline';
import { aroundAll } from './support/around-all';
import { hostConfig, plainFile } from './support/configs';
import { POOL } from './support/fleet';
import { startWorld, STORY_MS, type World } from './support/world';

const GROUP = 'machineconfiguration.openshift.io';
const NODE = `${POOL}-0`;
const NAME = 'story';
const KUBELET_CONFIG = `/apis/${GROUP}/v1/kubeletconfigs/${NAME}`;
/** What the machines of the suite run with, at the place that the MachineConfigs of a role use. */
const BASE = readFileSync(
  join(repositoryRoot(), 'test/hosts/image/common/etc/kubernetes/kubelet.yaml'),
  'utf8',
);
const UNIT = `[Service]
Environment=KUBELET_LOG_LEVEL=2 SYSTEM_RESERVED_CPU=100m SYSTEM_RESERVED_MEMORY=50Mi SYSTEM_RESERVED_ES=10Mi
EnvironmentFile=-/etc/node-sizing-enabled.env
ExecStart=
ExecStart=/usr/bin/kubelet --config=/etc/kubernetes/kubelet.conf --kubeconfig=/etc/kubernetes/kubeconfig --v=\${KUBELET_LOG_LEVEL} --system-reserved=cpu=\${SYSTEM_RESERVED_CPU},memory=\${SYSTEM_RESERVED_MEMORY},ephemeral-storage=\${SYSTEM_RESERVED_ES} $KUBELET_ARGS
`;

let world: World;
let base: string;

aroundAll(async (lifetime) => {
  world = await startWorld(lifetime, { hosts: 1, policy: { verify: { readySeconds: 1 } } });
  const labels = { [`pools.operator.${GROUP}/${POOL}`]: '' };
  const pool = `/apis/${GROUP}/v1/machineconfigpools/${POOL}`;
  await world.api.call('PATCH', pool, { metadata: { labels } });
  base = await world.roll(
    hostConfig(`01-${POOL}-kubelet`, {
      files: [plainFile('/etc/kubernetes/kubelet.conf', BASE)],
      units: [{ name: 'kubelet.service', dropins: [{ name: '10-conf.conf', contents: UNIT }] }],
    }),
  );
  await world.allUpdatedTo(base);
});

const kubeletConfig = (spec: object) => ({
  apiVersion: `${GROUP}/v1`,
  kind: 'KubeletConfig',
  metadata: { name: NAME },
  spec: {
    machineConfigPoolSelector: { matchLabels: { [`pools.operator.${GROUP}/${POOL}`]: '' } },
    ...spec,
  },
});

interface Kubelet {
  readonly pods: string;
  readonly cpu: number;
  readonly command: string;
}

/** What the kubelet told the API server, and how systemd started it. */
async function kubelet(): Promise<Kubelet> {
  const node = await world.api.call<{
    readonly status: Record<
      'capacity' | 'allocatable',
      { readonly pods: string; readonly cpu: string }
    >;
  }>('GET', `/api/v1/nodes/${NODE}`);
  const { capacity, allocatable } = node.status;
  const command = await world.machine.output(
    'sh',
    '-c',
    'tr "\\0" " " </proc/$(pidof kubelet)/cmdline',
  );
  return { pods: capacity.pods, cpu: milli(capacity.cpu) - milli(allocatable.cpu), command };
}

interface Status {
  readonly observedGeneration?: number;
  readonly conditions?: readonly { readonly type: string; readonly message: string }[];
}

/** What the controllers say about the newest generation, once they have refused it. */
async function refusal(): Promise<string> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const { metadata, status } = await world.api.call<{
      readonly metadata: { readonly generation: number };
      readonly status?: Status;
    }>('GET', KUBELET_CONFIG);
    const last = status?.conditions?.at(-1);
    if (status?.observedGeneration === metadata.generation && last?.type === 'Failure') {
      return last.message;
    }
    if (performance.now() > deadline) throw new Error(`not refused: ${JSON.stringify(status)}`);
  }
}

function milli(cpu: string): number {
  return cpu.endsWith('m') ? Number(cpu.slice(0, -1)) : Number(cpu) * 1000;
}

test(
  'the kubelet of a machine runs with it after the reboot',
  async () => {
    expect((await kubelet()).pods).toBe('110');
    const config = await world.roll(
      kubeletConfig({
        logLevel: 4,
        kubeletConfig: { maxPods: 37, systemReserved: { cpu: '150m', memory: '60Mi' } },
      }),
    );
    await world.allUpdatedTo(config);
    const { pods, cpu, command } = await kubelet();
    expect(pods).toBe('37');
    expect(cpu).toBe(150);
    expect(command).toContain('--v=4 --system-reserved=cpu=150m,memory=60Mi,ephemeral-storage=1Gi');
  },
  STORY_MS,
);

test(
  'a value that the kubelet would refuse changes nothing, and says where it is',
  async () => {
    const before = world.target();
    await world.fleet.manifests.applyObject(
      kubeletConfig({
        kubeletConfig: { maxPods: 37, evictionHard: { 'memory.available': '110%' } },
      }),
    );
    const said = await refusal();
    expect(said).toContain('spec.kubeletConfig.evictionHard');
    expect(world.target()).toBe(before);
    expect((await kubelet()).pods).toBe('37');
  },
  STORY_MS,
);

test(
  'without it the machine has the kubelet of its role again',
  async () => {
    await world.api.call('DELETE', KUBELET_CONFIG);
    await world.until('the pool is on its first config again', () => world.target() === base);
    await world.allUpdatedTo(base);
    expect((await kubelet()).pods).toBe('110');
  },
  STORY_MS,
);
