/** The pod of `slipway debug`, and what its status says. */

import type { KubeObject } from '../../adapters/kube/resources';

export const CONTAINER = 'debug';
/** Where the machine is in the container. */
export const HOST = '/host';
/** It ends then, whatever becomes of whoever started it. */
const LONGEST_SECONDS = 24 * 3600;

interface PodWishes {
  readonly name: string;
  readonly namespace: string;
  readonly node: string;
  readonly image: string;
  readonly pullSecrets: readonly string[];
}

/** Privileged, on this node whatever its taints and its cordon are, with the machine's files at `/host`. */
export function debugPod({ name, namespace, node, image, pullSecrets }: PodWishes): KubeObject {
  const pod = {
    metadata: {
      ...{ name, namespace },
      labels: { 'app.kubernetes.io/name': 'slipway-debug' },
    },
    spec: {
      nodeName: node,
      ...{ hostNetwork: true, hostPID: true, hostIPC: true },
      tolerations: [{ operator: 'Exists' }],
      ...{ restartPolicy: 'Never', terminationGracePeriodSeconds: 0 },
      activeDeadlineSeconds: LONGEST_SECONDS,
      ...{ automountServiceAccountToken: false, enableServiceLinks: false },
      imagePullSecrets: pullSecrets.map((secret) => ({ name: secret })),
      containers: [
        {
          ...{ name: CONTAINER, image, imagePullPolicy: 'IfNotPresent' },
          command: ['sleep', String(LONGEST_SECONDS)],
          securityContext: { privileged: true, runAsUser: 0 },
          volumeMounts: [{ name: 'host', mountPath: HOST, mountPropagation: 'HostToContainer' }],
        },
      ],
      volumes: [{ name: 'host', hostPath: { path: '/', type: 'Directory' } }],
    },
  };
  return pod;
}

/** As far as it is looked at. */
export interface DebugPod extends KubeObject {
  readonly status?: {
    readonly phase?: string;
    readonly reason?: string;
    readonly message?: string;
    readonly containerStatuses?: readonly {
      readonly state?: {
        readonly running?: object;
        readonly waiting?: Said;
        readonly terminated?: Said;
      };
    }[];
  };
}

interface Said {
  readonly reason?: string;
  readonly message?: string;
}

/** A kubelet that has begun says what it waits for. */
export type PodState =
  | { readonly is: 'running' }
  | { readonly is: 'unseen' }
  | { readonly is: 'waiting'; readonly why: string }
  | { readonly is: 'failed'; readonly why: string };

/** The kubelet tries these again, but they rarely mend themselves. */
const HOPELESS = new Set([
  ...['ImagePullBackOff', 'InvalidImageName', 'ErrImageNeverPull', 'ImageInspectError'],
  ...['CreateContainerConfigError', 'CreateContainerError', 'RunContainerError'],
]);

export function stateOf({ status }: DebugPod): PodState {
  const state = status?.containerStatuses?.[0]?.state;
  if (state?.running !== undefined) return { is: 'running' };
  if (state?.terminated !== undefined) return { is: 'failed', why: words(state.terminated) };
  if (status?.phase === 'Failed') return { is: 'failed', why: words(status) };
  if (state?.waiting === undefined) return { is: 'unseen' };
  const isHopeless = HOPELESS.has(state.waiting.reason ?? '');
  return { is: isHopeless ? 'failed' : 'waiting', why: words(state.waiting) };
}

function words({ reason, message }: Said): string {
  return [reason, message].filter((part) => part !== undefined && part !== '').join(': ');
}

/** At most 63 characters, as a host name. */
export function podName(node: string, random: string): string {
  const name = `slipway-debug-${node.replace(/[^a-z0-9-]/g, '-')}`.slice(0, 56);
  return `${name.replace(/-+$/, '')}-${random}`;
}
