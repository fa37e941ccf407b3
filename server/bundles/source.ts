/** The bundles of all pools, from the watched ControllerConfig and the one Secret that it names. */

import { WatchCache, type CacheView, type KubeObject } from '../../adapters/kube';
import { SECRETS, type Secret } from '../../adapters/kube/resources';
import type { Log } from '../../adapters/kube/transport';
import type { WatchSource } from '../../adapters/kube/watch';
import { CONTROLLER_CONFIG } from '../../core/controller-config';
import { messageOf } from '../../core/errors';
import {
  type BundleContents,
  bundleOfPool,
  bundleProblemText,
  composeBundle,
  type FoundSecret,
  type HostBundle,
  pullSecretReference,
  type SecretReference,
  specOf,
} from '../../core/host-bundle';

export interface BundleSource {
  /** Undefined = there is no ControllerConfig, or it has not been seen. */
  contents(): BundleContents | undefined;
  bundleOf(pool: string): HostBundle | undefined;
  /** Returns a function that stops. */
  onChange(listener: () => void): () => void;
}

export interface FollowedBundles extends BundleSource {
  /** Until the signal aborts. */
  run(source: WatchSource, signal: AbortSignal): Promise<void>;
}

interface FollowedSecret {
  readonly reference: SecretReference;
  readonly cache: WatchCache<Secret>;
  readonly stop: AbortController;
  readonly running: Promise<void>;
}

const UNREAD: FoundSecret = { state: 'unread', because: 'it is not known yet' };

export function followBundles(
  controllerConfigs: Pick<CacheView<KubeObject>, 'get' | 'subscribe' | 'synced' | 'isSynced'>,
  log: Log,
): FollowedBundles {
  const listeners = new Set<() => void>();
  let secret: FollowedSecret | undefined;
  let composed: BundleContents | undefined;
  const byPool = new Map<string, HostBundle>();
  let told = '';

  function compose(): void {
    const config = controllerConfigs.get(CONTROLLER_CONFIG);
    const next = config === undefined ? undefined : composeBundle(config, foundSecret(secret));
    if (JSON.stringify(next) === JSON.stringify(composed)) return;
    composed = next;
    byPool.clear();
    tellProblems(next?.problems.map(bundleProblemText) ?? []);
    for (const listener of listeners) listener();
  }

  function tellProblems(problems: readonly string[]): void {
    const text = problems.join('; ');
    if (text === told) return;
    told = text;
    for (const reason of problems)
      log.warn({ reason }, 'hosts keep what they have instead of this');
  }

  function follow(source: WatchSource, signal: AbortSignal): void {
    const found = pullSecretReference(specOf(controllerConfigs.get(CONTROLLER_CONFIG)));
    const wanted = found === undefined || 'problem' in found ? undefined : found;
    const known = secret?.reference;
    if (wanted?.namespace !== known?.namespace || wanted?.name !== known?.name) {
      secret?.stop.abort();
      secret = wanted && followSecret(wanted, { source, signal, log, changed: compose });
    }
    compose();
  }

  return {
    contents: () => composed,
    bundleOf(pool) {
      if (composed === undefined) return undefined;
      const known = byPool.get(pool) ?? bundleOfPool(pool, composed);
      byPool.set(pool, known);
      return known;
    },
    onChange(listener) {
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
      };
    },
    async run(source, signal) {
      const again = (): void => {
        if (controllerConfigs.isSynced && !signal.aborted) follow(source, signal);
      };
      const unsubscribe = controllerConfigs.subscribe(again);
      void controllerConfigs.synced.then(again);
      await new Promise<void>((resolve) => {
        if (signal.aborted) resolve();
        else signal.addEventListener('abort', () => resolve(), { once: true });
      });
      unsubscribe();
      await secret?.running;
    },
  };
}

function followSecret(
  reference: SecretReference,
  options: {
    readonly source: WatchSource;
    readonly signal: AbortSignal;
    readonly log: Log;
    readonly changed: () => void;
  },
): FollowedSecret {
  const { source, signal, log, changed } = options;
  const { namespace, name } = reference;
  const fieldSelector = `metadata.name=${name}`;
  const cache = new WatchCache({ resource: SECRETS, namespace, fieldSelector, log });
  const stop = new AbortController();
  cache.subscribe(changed);
  void cache.synced.then(changed);
  const running = cache
    .run(source, AbortSignal.any([signal, stop.signal]))
    .catch((error: unknown) => {
      log.error(
        { namespace, name, reason: messageOf(error) },
        'the pull secret is not followed any more',
      );
    });
  return { reference, cache, stop, running };
}

function foundSecret(followed: FollowedSecret | undefined): FoundSecret {
  if (followed === undefined) return UNREAD;
  const { cache, reference } = followed;
  if (!cache.isSynced) {
    return { state: 'unread', because: 'it has not answered yet, or the server has no right to' };
  }
  const object = cache.get(reference.name, reference.namespace);
  return object === undefined
    ? { state: 'absent' }
    : { state: 'found', type: object.type, data: object.data };
}
