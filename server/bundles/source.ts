/** The bundles of all pools, from the watched ControllerConfig and the one Secret that it names. */

import { WatchCache, type CacheView, type KubeObject } from '../../adapters/kube';
import { SECRETS } from '../../adapters/kube/resources';
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
import { whenAborted } from '../../process/when-aborted';

export interface BundleSource {
  /** Undefined = there is no ControllerConfig, or it or its pull Secret has not been seen. */
  contents(): BundleContents | undefined;
  bundleOf(pool: string): HostBundle | undefined;
  /** What has to be seen before there are contents: `secret slipway/pull-secret`. */
  missing(): readonly string[];
  /** Returns a function that stops. */
  onChange(listener: () => void): () => void;
}

interface FollowedBundles extends BundleSource {
  /** Until the signal aborts. */
  run(source: WatchSource, signal: AbortSignal): Promise<void>;
}

interface FollowedSecret {
  readonly reference: SecretReference;
  /** Undefined = not seen yet. */
  found(): FoundSecret | undefined;
  readonly stop: AbortController;
  readonly running: Promise<void>;
}

/** It is not looked at. */
const NONE_NAMED: FoundSecret = { state: 'absent' };

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
    const found = secret === undefined ? NONE_NAMED : secret.found();
    // Hosts would get a bundle that keeps their old secret, and machines a first config without it.
    if (config !== undefined && found === undefined) return;
    const next = config && found && composeBundle(config, found);
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
    const wanted = namedSecret();
    const known = secret?.reference;
    if (wanted?.namespace !== known?.namespace || wanted?.name !== known?.name) {
      secret?.stop.abort();
      secret = wanted && followSecret(wanted, { source, signal, log, changed: compose });
      if (wanted !== undefined) {
        log.info({ missing: shownSecret(wanted) }, 'bundles of hosts wait until it has been read');
      }
    }
    compose();
  }

  function namedSecret(): SecretReference | undefined {
    const named = pullSecretReference(specOf(controllerConfigs.get(CONTROLLER_CONFIG)));
    return named === undefined || 'problem' in named ? undefined : named;
  }

  return {
    contents: () => composed,
    missing() {
      const wanted = composed === undefined ? namedSecret() : undefined;
      return wanted === undefined ? [] : [shownSecret(wanted)];
    },
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
      await whenAborted(signal);
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
  let isRefused = false;
  const onRefused = (): void => {
    isRefused = true;
    changed();
  };
  const cache = new WatchCache({ resource: SECRETS, namespace, fieldSelector, log, onRefused });
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
  return {
    reference,
    stop,
    running,
    found() {
      if (!cache.isSynced) return isRefused ? REFUSED : undefined;
      const object = cache.get(name, namespace);
      return object === undefined
        ? { state: 'absent' }
        : { state: 'found', type: object.type, data: object.data };
    },
  };
}

const REFUSED: FoundSecret = { state: 'unread', because: 'the server has no right to' };

function shownSecret({ namespace, name }: SecretReference): string {
  return `secret ${namespace}/${name}`;
}
