import { bootstrapKubeconfig } from '../../../../core/first-boot';
import { clusterIn, withAuthority } from '../../../../core/host-bundle';

const OLD = 'b2xk';
const KUBEADM = `apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: ${OLD}
    server: https://10.0.0.1:6443
  name: default-cluster
users:
- name: default-auth
  user:
    client-certificate: /var/lib/kubelet/pki/kubelet-client-current.pem
`;

const JSON_TEXT = JSON.stringify(
  {
    clusters: [
      { name: 'a', cluster: { server: 'https://api:6443', 'certificate-authority-data': OLD } },
    ],
    users: [{ name: 'a', user: {} }],
  },
  undefined,
  2,
);

it.each([
  ['a program that writes JSON', JSON_TEXT, 'https://api:6443'],
  ['kubeadm', KUBEADM, 'https://10.0.0.1:6443'],
  [
    'bootstrapping',
    bootstrapKubeconfig({ server: 'https://api:6443', authority: OLD, token: 't' }),
    'https://api:6443',
  ],
])('changes the authority and nothing else in the kubeconfig of %s', (_of, text, server) => {
  expect(clusterIn(text)).toEqual({ server, authority: 'old' });

  const changed = withAuthority(text, 'new');

  expect(clusterIn(changed)).toEqual({ server, authority: 'new' });
  expect(changed).toBe(text.replace(OLD, Buffer.from('new').toString('base64')));
});

it.each([
  ['a file instead', KUBEADM.replace('-data: b2xk', ': /etc/ca.crt')],
  ['several clusters', KUBEADM + KUBEADM],
  ['nothing', ''],
])('leaves a kubeconfig with %s alone', (_what, text) => {
  expect(clusterIn(text)).toBeUndefined();
});
