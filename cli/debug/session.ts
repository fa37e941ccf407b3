/** Starts the pod of `slipway debug`, waits until it runs, and deletes it at the end, however that comes. */

import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { KubeClient } from '../../adapters/kube/client';
import {
  DEPLOYMENTS,
  type KubeObject,
  NODES,
  PODS,
  type Resource,
} from '../../adapters/kube/resources';
import { failureName, messageOf } from '../../core/errors';
import { unreadyCondition } from '../../core/node/predicates';
import { cliError, EXIT } from '../exit-codes';
import type { Terminal } from '../terminal';
import { debugPod, podName, stateOf } from './pod';

interface SessionOptions {
  readonly node: string;
  readonly namespace: string;
  /** Default: that of Slipway's processes. */
  readonly image?: string;
}

interface Surroundings {
  readonly client: KubeClient;
  readonly terminal: Terminal;
  readonly signal: AbortSignal;
}

export interface DebugSession {
  readonly pod: string;
  readonly namespace: string;
}

const LOOK_AGAIN_MS = 500;
/** A kubelet that works sees a pod within seconds. */
const UNSEEN_MS = 60_000;
/** An image may have to be pulled. */
const WAIT_MS = 300_000;

/** @throws `ObjectNotFound` for the node or the namespace, or the exit that says why the pod does not run */
export async function inDebugPod<T>(
  around: Surroundings,
  options: SessionOptions,
  work: (session: DebugSession) => Promise<T>,
): Promise<T> {
  const { client, terminal, signal } = around;
  const { node, namespace } = options;
  const sick = unreadyCondition(await client.get(NODES, { name: node }, signal));
  if (sick !== undefined) {
    const says = `${sick.type} is ${sick.status} (${sick.message ?? ''})`;
    terminal.err.write(`node ${node}: ${says}; its kubelet may not start the pod\n`);
  }
  const own = options.image === undefined ? await ownImage(client) : undefined;
  const image = options.image ?? own?.image ?? '';
  const pullSecrets = namespace === SLIPWAY ? (own?.pullSecrets ?? []) : [];
  const pod = podName(node, randomBytes(3).toString('hex'));
  const wishes = { name: pod, ...{ namespace, node, image, pullSecrets } };
  await client.create<KubeObject>(PODS_AS_SENT, debugPod(wishes)).catch((error: unknown) => {
    throw refused(error, namespace);
  });
  try {
    terminal.err.write(`pod ${namespace}/${pod} with image ${image}\n`);
    await untilRunning(around, { pod, ...options });
    return await work({ pod, namespace });
  } finally {
    await remove(around, { pod, namespace });
  }
}

const SLIPWAY = 'slipway';
const PODS_AS_SENT: Resource = PODS;

/** Also without the signal, which may have ended the work. */
async function remove(
  { client, terminal }: Surroundings,
  { pod, namespace }: DebugSession,
): Promise<void> {
  try {
    await client.delete(PODS, { name: pod, namespace });
  } catch (error) {
    terminal.err.write(
      `pod ${namespace}/${pod} is still there (${messageOf(error)}); ` +
        `delete it: kubectl -n ${namespace} delete pod ${pod}\n`,
    );
  }
}

/** Machines in a network of their own have no other one. */
async function ownImage(
  client: KubeClient,
): Promise<{ readonly image: string; readonly pullSecrets: readonly string[] }> {
  const name = 'slipway-cluster-worker';
  let found: Deployment;
  try {
    found = await client.get(DEPLOYMENTS, { name, namespace: SLIPWAY });
  } catch (error) {
    throw cliError(
      EXIT.USAGE,
      `name an image with --image: that of Slipway is not known (${messageOf(error)})`,
    );
  }
  const spec = found.spec?.template?.spec;
  const image = spec?.containers?.[0]?.image ?? '';
  return { image, pullSecrets: (spec?.imagePullSecrets ?? []).map((secret) => secret.name) };
}

interface Deployment extends KubeObject {
  readonly spec?: {
    readonly template?: {
      readonly spec?: {
        readonly imagePullSecrets?: readonly { readonly name: string }[];
        readonly containers?: readonly { readonly image?: string }[];
      };
    };
  };
}

function refused(error: unknown, namespace: string): unknown {
  const message = messageOf(error);
  if (failureName(error) !== 'ApiForbidden' || !message.includes('PodSecurity')) return error;
  return cliError(
    EXIT.FAILED,
    `namespace ${namespace} lets no privileged pod in: ` +
      `kubectl label namespace ${namespace} pod-security.kubernetes.io/enforce=privileged --overwrite, ` +
      `or another one with --namespace (${message})`,
  );
}

async function untilRunning(
  { client, terminal, signal }: Surroundings,
  { pod, node, namespace }: SessionOptions & { readonly pod: string },
): Promise<void> {
  const beganAt = performance.now();
  let said = '';
  for (;;) {
    const key = { name: pod, namespace };
    const state = stateOf(await client.get(PODS, key, signal));
    if (state.is === 'running') return;
    const waitedMs = performance.now() - beganAt;
    if (state.is === 'failed') throw notRunning(pod, state.why);
    if (state.is === 'unseen' && waitedMs > UNSEEN_MS) {
      throw notRunning(pod, `the kubelet of node ${node} has not begun for 60 s; is it up?`);
    }
    if (state.is === 'waiting') {
      if (waitedMs > WAIT_MS) throw notRunning(pod, state.why);
      if (state.why !== said) terminal.err.write(`${state.why}\n`);
      said = state.why;
    }
    await delay(LOOK_AGAIN_MS, undefined, { signal });
  }
}

function notRunning(pod: string, why: string): Error {
  return cliError(EXIT.FAILED, `pod ${pod} does not run: ${why}`);
}
