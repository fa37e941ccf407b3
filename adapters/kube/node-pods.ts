import type { Pod } from '../../core/drain';
import { isRecord, refusal, type ApiStatus } from './api-errors';
import type { KubeClient } from './client';
import { PODS, pathOf } from './resources';
import type { Log } from './transport';
import { trimPod } from './trim';
import { followChanges } from './watch';

interface EvictedPod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

type Eviction =
  | { readonly outcome: 'accepted' | 'gone' | 'namespaceTerminating' }
  | { readonly outcome: 'refused'; readonly said: string; readonly retryAfterSeconds?: number };

export class NodePods {
  constructor(
    readonly client: KubeClient,
    readonly log: Log,
  ) {}

  async follow(
    node: string,
    handler: {
      listed(pods: readonly Pod[]): void;
      changed(pod: Pod, isGone: boolean): void;
      heard?(): void;
      failed?(reason: string): void;
    },
    signal: AbortSignal,
  ): Promise<void> {
    await followChanges(
      this.client,
      { resource: PODS, fieldSelector: `spec.nodeName=${node}` },
      {
        listed: ({ items }) => {
          handler.listed(items.filter(isNamed).map(trimPod));
        },
        changed: ({ type, object }) => {
          if (isNamed(object)) handler.changed(trimPod(object), type === 'DELETED');
        },
        heard: () => handler.heard?.(),
        failed: (reason) => handler.failed?.(reason),
      },
      { signal, log: this.log },
    );
  }

  /**
   * The signal only keeps the request from being sent: the API server charges the budget before it
   * deletes the pod, so an aborted request would block the budget for two minutes.
   *
   * @throws `ApiUnavailable`, `ApiForbidden` for unknown credentials: no answer about this pod
   */
  async evict(
    pod: EvictedPod,
    options: { readonly gracePeriodSeconds?: number; readonly signal: AbortSignal },
  ): Promise<Eviction> {
    const { namespace, name, uid } = pod;
    const { gracePeriodSeconds, signal } = options;
    const what = `evict Pod ${namespace}/${name}`;
    signal.throwIfAborted();
    const reply = await this.client.post(
      pathOf(PODS, { namespace, name, subresource: 'eviction' }),
      {
        apiVersion: 'policy/v1',
        kind: 'Eviction',
        metadata: { name, namespace },
        deleteOptions: {
          ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
          ...(uid === '' ? {} : { preconditions: { uid } }),
        },
      },
      what,
    );
    return reply.ok ? { outcome: 'accepted' } : outcomeOf(what, reply.status);
  }
}

function outcomeOf(what: string, status: ApiStatus): Eviction {
  // 409: the precondition on the UID fails, so another pod has the name.
  if (status.code === 404 || status.code === 409) return { outcome: 'gone' };
  if (status.code === 403 && status.causes.some(isNamespaceTerminating)) {
    return { outcome: 'namespaceTerminating' };
  }
  // No answer about this pod.
  if (status.code === 401 || status.code < 400) throw refusal(what, status);
  // 429: a budget, or an overloaded server. 500: several budgets, or a fault. Others: admission
  // policies, which may allow the eviction later.
  return {
    outcome: 'refused',
    said: wordsOf(status),
    ...(status.retryAfterSeconds === undefined
      ? {}
      : { retryAfterSeconds: status.retryAfterSeconds }),
  };
}

/** The outer message does not name the refusing budget. */
function wordsOf({ code, message, causes }: ApiStatus): string {
  const budget = causes.find(({ reason }) => reason === 'DisruptionBudget');
  return budget?.message ?? message ?? `the API server answered ${code}`;
}

function isNamespaceTerminating({ reason }: { readonly reason?: string }): boolean {
  return reason === 'NamespaceTerminating';
}

function isNamed(pod: Pod): boolean {
  return isRecord(pod.metadata) && typeof pod.metadata.name === 'string';
}
