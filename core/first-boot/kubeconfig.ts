/**
 * The kubeconfig with which a kubelet without a certificate requests one.
 *
 * @see MCO pkg/server/cluster_server.go (7ff337a4), kubeconfigFromSecret
 */

/**
 * @param input - `authority` is PEM in base 64, `token` that of a service account for this request
 * only
 */
export function bootstrapKubeconfig(input: {
  readonly server: string;
  readonly authority: string;
  readonly token: string;
}): string {
  // A JSON string is a valid YAML string.
  const text = (value: string): string => JSON.stringify(value);
  return `apiVersion: v1
kind: Config
clusters:
- name: local
  cluster:
    server: ${text(input.server)}
    certificate-authority-data: ${text(input.authority)}
users:
- name: kubelet
  user:
    token: ${text(input.token)}
contexts:
- name: kubelet
  context:
    cluster: local
    user: kubelet
current-context: kubelet
`;
}
