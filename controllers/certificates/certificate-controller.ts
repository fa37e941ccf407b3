/**
 * Keeps the certificates of the server: its authority, the certificate that it serves, the bundle by
 * which machines recognise it, and the authorities of the kubelets. Objects that Slipway did not
 * make stay as they are.
 */

import {
  issueServing,
  linkAuthority,
  makeAuthority,
  type Issued,
} from '../../adapters/certificates/issue';
import { keyProblemOf, signerProblemOf } from '../../adapters/certificates/key-problem';
import type { CacheView } from '../../adapters/kube/cache';
import type { ConfigMap, KubeObject, Resource, Secret } from '../../adapters/kube/resources';
import type { Log } from '../../adapters/kube/transport';
import type { WatchSource } from '../../adapters/kube/watch';
import {
  BUNDLE_CONFIG_MAP,
  BUNDLE_KEY,
  bundleOf,
  type CertificateProblem,
  certificateBlocks,
  clientAuthorities,
  CLIENT_AUTHORITY_CONFIG_MAP,
  CLUSTER_AUTHENTICATION,
  isOurs,
  joined,
  judgeAuthority,
  judgeServing,
  type NamedBundle,
  problemOfForeign,
  problemText,
  serverNames,
  SERVING_SECRET,
  type StoredPair,
  validOf,
} from '../../core/certificates';
import { CONTROLLER_CONFIG, internalHostOf } from '../../core/controller-config';
import { failureName } from '../../core/errors';
import { ANNOTATION, FIELD_MANAGER } from '../../core/names';
import type { EventRecorder } from '../event-recorder';
import type { Writer } from '../fenced-writer';
import { tellFailure, WorkQueue } from '../work-queue';
import { absorb, asData, type Follower, followStored, storedCertificates, textIn } from './stored';
import type { StoredCertificates } from './stored';

/** Certificates end while nothing changes. */
const LONGEST_MS = 3_600_000;
const COALESCING = { quietMs: 100, longestMs: 1_000 };
/** What is kept together: each is retried by itself. */
const SERVER = 'server';
const CLIENTS = 'clients';

/** In the Secret of the authority, beside `tls.crt` and `tls.key`; PEM. */
const PREVIOUS = 'previous.crt';
const LINKS = 'links.crt';

interface CertificateDeps {
  readonly source: WatchSource;
  /** Its replies go to the given function. */
  readonly writerWith: (absorb: (resource: Resource, object: KubeObject) => void) => Writer;
  readonly events: EventRecorder;
  readonly log: Log;
  readonly controllerConfigs: CacheView<KubeObject>;
  readonly namespace: string;
  readonly serverNames: readonly string[];
  /** False: another program issues the certificate of the server. */
  readonly issues: boolean;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

interface Authority extends Issued {
  readonly previous: string;
  readonly links: string;
}

export class CertificateController {
  readonly #deps: CertificateDeps;
  readonly #stored: StoredCertificates;
  readonly #writer: Writer;
  readonly #queue: WorkQueue;
  readonly #following: Promise<void>;
  readonly #told = new Map<string, string>();

  constructor(deps: CertificateDeps, leading: AbortSignal) {
    this.#deps = deps;
    this.#stored = storedCertificates(deps.namespace, deps.log);
    this.#writer = deps.writerWith((resource, object) => absorb(this.#stored, resource, object));
    this.#queue = new WorkQueue(
      {
        work: (key) => (key === SERVER ? this.#keepServer() : this.#keepClients()),
        onFailure: (failure) => {
          const isPassing = ['ApiUnavailable', 'Conflict'].includes(
            failureName(failure.error) ?? '',
          );
          tellFailure(deps.log, failure, 'certificates stay for now', isPassing);
        },
        ...COALESCING,
      },
      leading,
    );
    const changed = (): void => {
      for (const key of [SERVER, CLIENTS]) this.#queue.add(key);
    };
    this.#following = followStored(this.#stored, deps.source, { signal: leading, changed });
    const unsubscribe = deps.controllerConfigs.subscribe(() => {
      if (this.#stored.serving.cache.isSynced) this.#queue.add(SERVER);
    });
    leading.addEventListener('abort', unsubscribe);
  }

  /** What the server and its hosts show each other; undefined = not all of it has been seen. */
  bundles(): readonly NamedBundle[] | undefined {
    const { serving, bundle, clientAuthority } = this.#stored;
    if (![serving, bundle, clientAuthority].every(({ cache }) => cache.isSynced)) return undefined;
    const served = serving.object === undefined ? '' : textIn(serving.object, 'tls.crt');
    return [
      { bundle: SERVING_SECRET, pem: served },
      { bundle: BUNDLE_CONFIG_MAP, pem: bundle.object?.data?.[BUNDLE_KEY] ?? '' },
      {
        bundle: CLIENT_AUTHORITY_CONFIG_MAP,
        pem: clientAuthority.object?.data?.[BUNDLE_KEY] ?? '',
      },
    ];
  }

  /** Returns a function that stops. */
  onChange(listener: () => void): () => void {
    const ends = Object.values(this.#stored).map(({ cache }: Follower<KubeObject>) => {
      void cache.synced.then(listener);
      return cache.subscribe(listener);
    });
    return () => {
      for (const end of ends) end();
    };
  }

  async idle(): Promise<void> {
    await Promise.all([this.#following, this.#queue.idle()]);
  }

  async #keepClients(): Promise<void> {
    const { clientAuthority, cluster } = this.#stored;
    const nowMs = this.#now();
    this.#queue.addAfter(CLIENTS, LONGEST_MS);
    const kept = clientAuthority.object;
    if (kept !== undefined && !isOurs(kept.metadata)) return;
    const found = clientAuthorities(cluster.object?.data?.[CLUSTER_AUTHENTICATION.key], nowMs);
    this.#tell(clientAuthority, 'says' in found ? found : undefined);
    if ('says' in found) return;
    if (await this.#publish(clientAuthority, found.pem)) {
      const count = certificateBlocks(found.pem).length;
      this.#deps.log.info({ object: clientAuthority.text, count }, 'authorities of kubelets kept');
    }
  }

  async #keepServer(): Promise<void> {
    const { serving, bundle } = this.#stored;
    const nowMs = this.#now();
    this.#queue.addAfter(SERVER, LONGEST_MS);
    const served = serving.object;
    if (!this.#deps.issues || (served !== undefined && !isOurs(served.metadata))) {
      await this.#followForeign(served, nowMs);
      return;
    }
    const authority = await this.#keepAuthority(nowMs);
    if (authority === undefined) return;
    const pem = bundleOf(authority.certificate, authority.previous, nowMs);
    await this.#publish(bundle, pem);
    await this.#keepServing(authority, pem, nowMs);
  }

  /** Its authority, where it names one, is what machines need. */
  async #followForeign(served: Secret | undefined, nowMs: number): Promise<void> {
    const { serving, bundle } = this.#stored;
    const { namespace } = this.#deps;
    const pair = served === undefined ? undefined : pairIn(served);
    const problem = pair === undefined ? undefined : problemOfForeign(pair, nowMs, namespace);
    this.#tell(serving, problem);
    const pem = served === undefined ? '' : validOf([textIn(served, BUNDLE_KEY)], nowMs);
    if (pem !== '' || bundle.object?.data?.[BUNDLE_KEY] !== undefined) {
      await this.#publish(bundle, pem);
    }
  }

  /** Undefined = a person must mend it; the server goes on with what it has. */
  async #keepAuthority(nowMs: number): Promise<Authority | undefined> {
    const { authority: follower } = this.#stored;
    const { namespace } = this.#deps;
    const secret = follower.object;
    const known = secret === undefined ? undefined : authorityIn(secret);
    const verdict = judgeAuthority(known, nowMs, namespace);
    this.#tell(follower, verdict.step === 'report' ? verdict.problem : undefined);
    if (verdict.step === 'report') return undefined;
    if (known === undefined || verdict.step === 'make') return this.#makeAuthority(nowMs);
    if (verdict.step === 'renew') return this.#renewAuthority(known, verdict.because, nowMs);
    this.#lookAgainAt(verdict.until, nowMs);
    return known;
  }

  async #makeAuthority(nowMs: number): Promise<Authority> {
    const { authority: follower, serving } = this.#stored;
    const { namespace } = this.#deps;
    const made = await makeAuthority(nowMs);
    await this.#createSecret(follower, { 'tls.crt': made.certificate, 'tls.key': made.key });
    if (serving.object === undefined) this.#say(follower, 'made the authority of the server');
    else {
      const says = `the authority of the server was gone, and is made anew: machines trust it when they have it (kubectl -n ${namespace} get configmap slipway-server-ca; docs/certificates.md)`;
      this.#say(follower, says, 'Warning');
    }
    return { ...made, previous: '', links: '' };
  }

  async #renewAuthority(
    old: Authority & { readonly secret: Secret },
    because: string,
    nowMs: number,
  ): Promise<Authority> {
    const { authority: follower } = this.#stored;
    const made = await makeAuthority(nowMs);
    const link = await linkAuthority(old, made, nowMs);
    const previous = validOf([old.certificate, old.previous], nowMs);
    const links = validOf([link, old.links], nowMs);
    await this.#patchSecret(follower, old.secret, {
      ...{ 'tls.crt': made.certificate, 'tls.key': made.key },
      ...{ [PREVIOUS]: previous, [LINKS]: links },
    });
    this.#say(follower, `renewed the authority of the server: ${because}`);
    return { ...made, previous, links };
  }

  async #keepServing(authority: Authority, bundle: string, nowMs: number): Promise<void> {
    const { serving } = this.#stored;
    const { controllerConfigs, namespace, serverNames: set } = this.#deps;
    const internalHost = internalHostOf(controllerConfigs.get(CONTROLLER_CONFIG));
    const names = serverNames({ set, internalHost, namespace });
    const links = validOf([authority.links], nowMs);
    const secret = serving.object;
    const known =
      secret === undefined ? undefined : { ...pairIn(secret), isAskedFor: isAskedFor(secret) };
    const wanted = { names, authority: authority.certificate, links };
    const verdict = judgeServing(known, wanted, nowMs);
    if (verdict.step === 'keep') {
      this.#lookAgainAt(verdict.until, nowMs);
      if (secret === undefined || textIn(secret, BUNDLE_KEY) === bundle) return;
      await this.#patchSecret(serving, secret, { [BUNDLE_KEY]: bundle });
      return;
    }
    const issued = await issueServing(authority, { names, nowMs });
    const certificate = joined([
      ...certificateBlocks(issued.certificate),
      ...certificateBlocks(links),
    ]);
    const texts = { 'tls.crt': certificate, 'tls.key': issued.key, [BUNDLE_KEY]: bundle };
    if (secret === undefined) await this.#createSecret(serving, texts);
    else await this.#patchSecret(serving, secret, texts);
    this.#say(serving, `issued the certificate of the server: ${verdict.because}`, 'Normal', names);
  }

  /** @returns whether it was written */
  async #publish(follower: Follower<ConfigMap>, pem: string): Promise<boolean> {
    const { object, resource, key, metadata } = follower;
    if (object === undefined) {
      await this.#writer.create(
        resource,
        { metadata, data: { [BUNDLE_KEY]: pem } },
        FIELD_MANAGER.CONTROLLERS,
      );
      return true;
    }
    if (!isOurs(object.metadata) || (object.data?.[BUNDLE_KEY] ?? '') === pem) return false;
    const { resourceVersion } = object.metadata;
    const change = {
      metadata: { resourceVersion },
      data: { [BUNDLE_KEY]: pem === '' ? null : pem },
    };
    await this.#writer.patch(resource, key, change, { manager: FIELD_MANAGER.CONTROLLERS });
    return true;
  }

  async #createSecret(
    { metadata, resource }: Follower<Secret>,
    texts: Readonly<Record<string, string>>,
  ): Promise<void> {
    const secret = { metadata, type: 'kubernetes.io/tls', data: asData(texts) };
    await this.#writer.create(resource, secret, FIELD_MANAGER.CONTROLLERS);
  }

  /** Refused when it is not the one that was judged any more: it may be a person's by now. */
  async #patchSecret(
    { resource, key }: Follower<Secret>,
    { metadata: { resourceVersion } }: Secret,
    texts: Readonly<Record<string, string>>,
  ): Promise<void> {
    const metadata = { resourceVersion, annotations: { [ANNOTATION.RENEW]: null } };
    const change = { metadata, data: asData(texts) };
    await this.#writer.patch(resource, key, change, { manager: FIELD_MANAGER.CONTROLLERS });
  }

  #lookAgainAt(atMs: number, nowMs: number): void {
    this.#queue.addAfter(SERVER, Math.min(Math.max(atMs - nowMs, 1_000), LONGEST_MS));
  }

  #say(
    { resource, metadata, object, text }: Follower<Secret>,
    says: string,
    type: 'Normal' | 'Warning' = 'Normal',
    names?: readonly string[],
  ): void {
    const { events, log } = this.#deps;
    const fields = { object: text, ...(names === undefined ? {} : { names }) };
    if (type === 'Warning') log.warn(fields, says);
    else log.info(fields, says);
    events.record({ resource, object: object ?? { metadata } }, type, 'CertificateIssued', says);
  }

  /** A problem once, until it is another one or gone. */
  #tell(follower: Follower<Secret> | Follower<ConfigMap>, problem: CertificateProblem | undefined) {
    const { events, log } = this.#deps;
    const { resource, metadata, text } = follower;
    const subject = { resource, object: { metadata } };
    if (problem === undefined) {
      if (this.#told.delete(text)) events.over(subject, 'CertificateProblem');
      return;
    }
    const says = problemText(problem);
    if (this.#told.get(text) === says) return;
    this.#told.set(text, says);
    const { object, field, says: reason, mend } = problem;
    log.warn({ object, field, reason, mend }, 'certificates need a person');
    events.record(subject, 'Warning', 'CertificateProblem', says);
  }

  #now(): number {
    return (this.#deps.now ?? Date.now)();
  }
}

function pairIn(secret: Secret): StoredPair {
  const certificate = textIn(secret, 'tls.crt');
  return { certificate, keyProblem: keyProblemOf(certificate, textIn(secret, 'tls.key')) };
}

function authorityIn(secret: Secret) {
  const [certificate, key] = [textIn(secret, 'tls.crt'), textIn(secret, 'tls.key')];
  const [first = certificate] = certificateBlocks(certificate);
  return {
    ...{ secret, certificate: first, key, keyProblem: signerProblemOf(first, key) },
    isOurs: isOurs(secret.metadata),
    isAskedFor: isAskedFor(secret),
    previous: textIn(secret, PREVIOUS),
    links: textIn(secret, LINKS),
  };
}

function isAskedFor({ metadata }: Secret): boolean {
  return metadata.annotations?.[ANNOTATION.RENEW] !== undefined;
}
