import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { primaryPoolForNode } from '../../../core/pool';
import type { MachineConfigPool } from '../../../core/pool/types';

const SAMPLES = join(__dirname, '..', '..', '..', 'deploy', 'samples');
const POOLS = ['master', 'worker', 'infra'].map(
  (name) =>
    parse(readFileSync(join(SAMPLES, `pool-${name}.yaml`), 'utf8')) as unknown as MachineConfigPool,
);

it.each([
  ['kubeadm labels a control-plane node', { 'control-plane': '' }, 'master'],
  ['k3s labels a server', { 'control-plane': 'true', etcd: 'true' }, 'master'],
  ['OpenShift labels a master', { 'control-plane': '', master: '' }, 'master'],
  ['k3s labels the server of a cluster of one', { 'control-plane': 'true', worker: '' }, 'master'],
  ['a person labels a worker', { worker: '' }, 'worker'],
  ['a person labels a node of the infrastructure', { worker: '', infra: '' }, 'infra'],
  ['kubeadm and k3s leave any other node', {}, undefined],
])('as %s, the sample pools take it: %j, %s', (_what, roles, pool) => {
  const labels = Object.fromEntries(
    Object.entries(roles).map(([role, value]) => [`node-role.kubernetes.io/${role}`, value]),
  );
  expect(primaryPoolForNode({ metadata: { name: 'n', labels } }, POOLS)?.metadata.name).toBe(pool);
});
