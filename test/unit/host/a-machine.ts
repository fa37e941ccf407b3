/** Directory trees of machines, as distributions of Kubernetes lay them out. */

import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** A path with a text, or with `-> target` for a link. */
export type Tree = Readonly<Record<string, string>>;

export function layOut(root: string, tree: Tree): void {
  for (const [path, content] of Object.entries(tree)) {
    const real = join(root, path);
    mkdirSync(dirname(real), { recursive: true });
    if (content.startsWith('-> ')) symlinkSync(content.slice('-> '.length), real);
    else writeFileSync(real, content);
  }
}

const UNIT = '[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n';

export function enabledUnit(
  name: string,
  directory = '/etc/systemd/system',
  target = 'multi-user.target',
): Tree {
  return {
    [`${directory}/${name}`]: UNIT,
    [`/etc/systemd/system/${target}.wants/${name}`]: `-> ${directory}/${name}`,
  };
}

export function installedUnit(name: string, directory = '/etc/systemd/system'): Tree {
  return { [`${directory}/${name}`]: UNIT };
}

/** A kubelet keeps requested certificates like this: a link to the last one, by its absolute path. */
export const ROTATED: Tree = {
  '/var/lib/kubelet/pki/kubelet-client-2026-01-01-00-00-00.pem': 'PEM',
  '/var/lib/kubelet/pki/kubelet-client-current.pem':
    '-> /var/lib/kubelet/pki/kubelet-client-2026-01-01-00-00-00.pem',
};

/** The files of k3s or RKE2 after the join. */
export const agentOf = (program: 'k3s' | 'rke2'): Tree => {
  const agent = `/var/lib/rancher/${program}/agent`;
  return Object.fromEntries(
    ['client-ca.crt', 'client-kubelet.crt', 'client-kubelet.key', 'server-ca.crt'].map((name) => [
      `${agent}/${name}`,
      'PEM',
    ]),
  );
};

export const KUBEADM: Tree = {
  ...enabledUnit('kubelet.service', '/usr/lib/systemd/system'),
  '/usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf': '[Service]\n',
  '/etc/kubernetes/kubelet.conf': 'kind: Config\n',
  '/etc/kubernetes/pki/ca.crt': 'PEM',
  '/var/lib/kubelet/kubeadm-flags.env': 'KUBELET_KUBEADM_ARGS=\n',
  ...ROTATED,
};

export const OKD: Tree = {
  ...enabledUnit('kubelet.service'),
  '/etc/kubernetes/ca.crt': 'PEM',
  '/etc/kubernetes/kubelet-ca.crt': 'PEM',
  '/etc/kubernetes/kubelet.conf': 'kind: KubeletConfiguration\n',
  '/etc/kubernetes/kubeconfig': 'kind: Config\n',
  '/var/lib/kubelet/kubeconfig': 'kind: Config\n',
  ...ROTATED,
};

export const K3S_SERVER: Tree = { ...enabledUnit('k3s.service'), ...agentOf('k3s') };
export const K3S_AGENT: Tree = { ...enabledUnit('k3s-agent.service'), ...agentOf('k3s') };

/** The archive and the package of RKE2 contain both units. */
export const RKE2_SERVER: Tree = {
  ...enabledUnit('rke2-server.service', '/usr/local/lib/systemd/system'),
  ...installedUnit('rke2-agent.service', '/usr/local/lib/systemd/system'),
  ...agentOf('rke2'),
};
export const RKE2_AGENT: Tree = {
  ...installedUnit('rke2-server.service', '/usr/lib/systemd/system'),
  ...enabledUnit('rke2-agent.service', '/usr/lib/systemd/system'),
  ...agentOf('rke2'),
};
