/** Keeps an authority and the certificates that it signs, each in a Secret of type `kubernetes.io/tls`. */

import {
  issueCertificate,
  linkAuthority,
  makeAuthority,
  type CertificateUse,
  type Issued,
} from '../../adapters/certificates/issue';
import { keyProblemOf, signerProblemOf } from '../../adapters/certificates/key-problem';
import type { ConfigMap, Secret } from '../../adapters/kube/resources';
import type { Log } from '../../adapters/kube/transport';
import {
  type AuthorityKind,
  BUNDLE_KEY,
  certificateBlocks,
  type CertificateProblem,
  isOurs,
  joined,
  judgeAuthority,
  judgeServing,
  problemText,
  type StoredPair,
  validOf,
} from '../../core/certificates';
import { ANNOTATION, FIELD_MANAGER } from '../../core/names';
import type { EventRecorder } from '../event-recorder';
import type { Writer } from '../fenced-writer';
import { asData, ownMetadata, textIn, textOf, type StoredObject } from './stored';

interface KeeperDeps {
  readonly writer: Writer;
  readonly events: EventRecorder;
  readonly log: Log;
  readonly namespace: string;
  /** Milliseconds since 1970, both. */
  readonly lookAgainAt: (atMs: number, nowMs: number) => void;
}

export interface Authority extends Issued {
  /** Earlier ones, PEM. */
  readonly previous: string;
  /** Earlier ones vouch for the present one, PEM. */
  readonly links: string;
}

interface ToIssue extends CertificateUse {
  /** In messages: `the certificate of the server` */
  readonly what: string;
  /** `ca.crt` beside it. */
  readonly bundle: string;
}

type StoredSecret = StoredObject<Secret>;

/** In the Secret of an authority, beside `tls.crt` and `tls.key`; PEM. */
const PREVIOUS = 'previous.crt';
const LINKS = 'links.crt';

export class PairKeeper {
  readonly #deps: KeeperDeps;
  readonly #told = new Map<string, string>();

  constructor(deps: KeeperDeps) {
    this.#deps = deps;
  }

  /**
   * @param wasGone - what to say when the authority is made although there was one; undefined = it is the first
   * @returns undefined = a person must mend it, and what it signed stays
   */
  async authority(
    kind: AuthorityKind,
    stored: StoredSecret,
    { nowMs, wasGone }: { readonly nowMs: number; readonly wasGone: string | undefined },
  ): Promise<Authority | undefined> {
    const known = stored.object === undefined ? undefined : authorityIn(stored.object);
    const verdict = judgeAuthority(known, nowMs, { ...kind, namespace: this.#deps.namespace });
    this.tell(stored, verdict.step === 'report' ? verdict.problem : undefined);
    if (verdict.step === 'report') return undefined;
    if (known === undefined || verdict.step === 'make') {
      const made = await this.#make(kind, stored, nowMs);
      if (wasGone === undefined) this.#say(stored, `made the authority of ${kind.of}`);
      else
        this.#say(
          stored,
          `the authority of ${kind.of} was gone, and is made anew: ${wasGone}`,
          'Warning',
        );
      return made;
    }
    if (verdict.step === 'renew') {
      const made = await this.#renew(kind, { stored, old: known }, nowMs);
      this.#say(stored, `renewed the authority of ${kind.of}: ${verdict.because}`);
      return made;
    }
    this.#deps.lookAgainAt(verdict.until, nowMs);
    return known;
  }

  /** Issues a certificate where there is none that will do. */
  async issue(
    stored: StoredSecret,
    authority: Authority,
    { what, bundle, ...use }: ToIssue,
    nowMs: number,
  ): Promise<void> {
    const secret = stored.object;
    const links = validOf([authority.links], nowMs);
    const known =
      secret === undefined ? undefined : { ...pairIn(secret), isAskedFor: isAskedFor(secret) };
    const wanted = { names: use.names, authority: authority.certificate, links };
    const verdict = judgeServing(known, wanted, nowMs);
    if (verdict.step === 'keep') {
      this.#deps.lookAgainAt(verdict.until, nowMs);
      if (secret === undefined || textIn(secret, BUNDLE_KEY) === bundle) return;
      await this.#patch(stored, secret, { [BUNDLE_KEY]: bundle });
      return;
    }
    const issued = await issueCertificate(authority, use, nowMs);
    const certificate = joined([
      ...certificateBlocks(issued.certificate),
      ...certificateBlocks(links),
    ]);
    const texts = { 'tls.crt': certificate, 'tls.key': issued.key, [BUNDLE_KEY]: bundle };
    if (secret === undefined) await this.#create(stored, texts);
    else await this.#patch(stored, secret, texts);
    this.#say(stored, `issued ${what}: ${verdict.because}`, 'Normal', use.names);
  }

  /** A problem once, until it is another one or gone. */
  tell(
    stored: StoredSecret | StoredObject<ConfigMap>,
    problem: CertificateProblem | undefined,
  ): void {
    const { events, log } = this.#deps;
    const subject = { resource: stored.resource, object: { metadata: ownMetadata(stored) } };
    const text = textOf(stored);
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

  async #make(kind: AuthorityKind, stored: StoredSecret, nowMs: number): Promise<Authority> {
    const made = await makeAuthority(nowMs, kind.secret);
    await this.#create(stored, { 'tls.crt': made.certificate, 'tls.key': made.key });
    return { ...made, previous: '', links: '' };
  }

  async #renew(
    kind: AuthorityKind,
    {
      stored,
      old,
    }: { readonly stored: StoredSecret; readonly old: ReturnType<typeof authorityIn> },
    nowMs: number,
  ): Promise<Authority> {
    const made = await makeAuthority(nowMs, kind.secret);
    const link = await linkAuthority(old, made, nowMs);
    const previous = validOf([old.certificate, old.previous], nowMs);
    const links = validOf([link, old.links], nowMs);
    await this.#patch(stored, old.secret, {
      ...{ 'tls.crt': made.certificate, 'tls.key': made.key },
      ...{ [PREVIOUS]: previous, [LINKS]: links },
    });
    return { ...made, previous, links };
  }

  async #create(stored: StoredSecret, texts: Readonly<Record<string, string>>): Promise<void> {
    const metadata = ownMetadata(stored);
    const secret = { metadata, type: 'kubernetes.io/tls', data: asData(texts) };
    await this.#deps.writer.create(stored.resource, secret, FIELD_MANAGER.CONTROLLERS);
  }

  /** Refused when it is not the one that was judged any more: it may be a person's by now. */
  async #patch(
    { resource, key }: StoredSecret,
    { metadata: { resourceVersion } }: Secret,
    texts: Readonly<Record<string, string>>,
  ): Promise<void> {
    const metadata = { resourceVersion, annotations: { [ANNOTATION.RENEW]: null } };
    const change = { metadata, data: asData(texts) };
    await this.#deps.writer.patch(resource, key, change, { manager: FIELD_MANAGER.CONTROLLERS });
  }

  #say(
    stored: StoredSecret,
    says: string,
    type: 'Normal' | 'Warning' = 'Normal',
    names?: readonly string[],
  ): void {
    const { events, log } = this.#deps;
    const fields = { object: textOf(stored), ...(names === undefined ? {} : { names }) };
    if (type === 'Warning') log.warn(fields, says);
    else log.info(fields, says);
    const { resource, object = { metadata: ownMetadata(stored) } } = stored;
    events.record({ resource, object }, type, 'CertificateIssued', says);
  }
}

export function pairIn(secret: Secret): StoredPair {
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
