/** Pods on the machine's network: pods have no network of their own here. */
export function hostNetworkPods(app: string, replicas = 1): object {
  const labels = { app };
  const containers = [
    { name: app, image: 'images.test/workload:1', imagePullPolicy: 'IfNotPresent' },
  ];
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: app, namespace: 'default', labels },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { hostNetwork: true, terminationGracePeriodSeconds: 2, containers },
      },
    },
  };
}
