/** What a drain knows of the pods of its node, and which it asks next. Evicting and watching are in `activities/cluster`. */

import { backoffMs } from '../backoff';
import type { ResolvedPolicy } from '../pool/types';
import { blockerOf, budgetsOf, evictionRefusal, type PodDisruptionBudget } from './budgets';
import {
  groupedMessages,
  judgePods,
  MCO_DRAIN_OPTIONS,
  type DrainContext,
  type JudgedPod,
} from './filters';
import { isTerminating, nameOf, terminatingSince, type Pod } from './pods';

/** A refused eviction is repeated so often while no budget changes. */
const RETRY_MS = 5_000;

/**
 * The shortest wait, whatever the server suggests. Also the first wait when the budget already
 * allows the eviction, because no change of it will follow.
 */
const SOONEST_MS = 250;

/** A broken connection resumes sooner; a longer silence is named. */
const RESUMES_WITHIN_MS = 10_000;

const SHOWN = 20;

export type EvictionOutcome =
  | { readonly outcome: 'accepted' }
  /** The pod is gone or replaced. */
  | { readonly outcome: 'gone' }
  /** Its namespace is being deleted. */
  | { readonly outcome: 'namespaceTerminating' }
  /** By a budget, an admission policy or a busy server; `said` is the API's message. */
  | { readonly outcome: 'refused'; readonly said: string; readonly retryAfterSeconds?: number };

/** Heartbeat details of a drain: what is left and why. */
export interface DrainProgress {
  readonly evicted: number;
  /** Without a pod: why the pods of the node are not known. */
  readonly remaining: readonly { readonly pod?: string; readonly blocker: string }[];
  readonly remainingCount: number;
}

interface Watched {
  readonly pod: Pod;
  readonly asking: boolean;
  /** When to ask, ms; absent: the pod is terminating. */
  readonly askAt?: number;
  /** Since when it is refused, ms. */
  readonly refusedSince?: number;
  readonly refusals?: number;
  /** The API's message, if no budget is known. */
  readonly said?: string;
}

interface Blocker {
  /** Absent: it concerns no single pod. */
  readonly pod?: string;
  readonly blocker: string;
  /** Since when, ms. */
  readonly since: number;
}

interface DrainFacts {
  readonly node: string;
  readonly isOnlyNode: () => boolean;
  readonly budgets: () => readonly PodDisruptionBudget[];
  readonly missingDaemonSets: (pods: readonly Pod[]) => readonly string[];
  readonly now: () => number;
}

export class DrainPods {
  readonly #drain: ResolvedPolicy['drain'];
  readonly #facts: DrainFacts;
  /** By UID: a recreated pod of the same name is another one. */
  readonly #pods = new Map<string, Watched>();
  #evicted: number;
  #isListed = false;
  /** Why the watch of pods is silent, and since when, ms. */
  #silence: { readonly reason: string; readonly since: number } | undefined;
  readonly #startedAt: number;

  constructor(drain: ResolvedPolicy['drain'], evictedBefore: number, facts: DrainFacts) {
    this.#drain = drain;
    this.#facts = facts;
    this.#evicted = evictedBefore;
    this.#startedAt = facts.now();
  }

  get evicted(): number {
    return this.#evicted;
  }

  get isListed(): boolean {
    return this.#isListed;
  }

  listed(pods: readonly Pod[]): void {
    const present = new Set(pods.map(uidOf));
    for (const uid of this.#pods.keys()) {
      if (!present.has(uid)) this.#pods.delete(uid);
    }
    for (const pod of pods) this.#see(pod);
    this.#isListed = true;
  }

  failed(reason: string): void {
    this.#silence = { reason, since: this.#silence?.since ?? this.#facts.now() };
  }

  heard(): void {
    this.#silence = undefined;
  }

  changed(pod: Pod, isGone: boolean): void {
    if (isGone) this.#pods.delete(uidOf(pod));
    else this.#see(pod);
  }

  /** False until the pods are listed, except on the only node. */
  isDone(): boolean {
    if (this.#facts.isOnlyNode()) return true;
    return this.#isListed && this.#leaving().length === 0;
  }

  left(): number {
    return this.#facts.isOnlyNode() ? this.#pods.size : this.#pods.size - this.#leaving().length;
  }

  /** Warnings or refusals of the filters, one sentence per message. */
  messages(verdict: 'warn' | 'refuse'): readonly string[] {
    return groupedMessages(this.#judged(), verdict);
  }

  /** At most `limit` pods; they are marked as being asked. */
  take(limit: number): readonly Pod[] {
    const now = this.#facts.now();
    const due = this.#leaving()
      .filter(({ asking, askAt = 0, pod }) => !asking && !isTerminating(pod) && askAt <= now)
      .slice(0, Math.max(0, limit));
    for (const watched of due) this.#set({ ...watched, asking: true });
    return due.map(({ pod }) => pod);
  }

  answered(pod: Pod, answer: EvictionOutcome): void {
    const uid = uidOf(pod);
    const watched = this.#pods.get(uid);
    if (answer.outcome === 'accepted') this.#evicted += 1;
    if (watched === undefined) return;
    const now = this.#facts.now();
    if (answer.outcome !== 'refused') {
      // Also one that is gone: only the watch is certain. Asked again if it is not terminating then.
      this.#set({ pod: watched.pod, asking: false, askAt: now + RETRY_MS });
      return;
    }
    const refusals = (watched.refusals ?? 0) + 1;
    this.#set({
      pod: watched.pod,
      asking: false,
      askAt: now + this.#pauseMs(watched.pod, refusals, answer.retryAfterSeconds),
      refusedSince: watched.refusedSince ?? now,
      refusals,
      said: answer.said,
    });
  }

  #pauseMs(pod: Pod, refusals: number, retryAfterSeconds: number | undefined): number {
    const budgets = this.#facts.budgets();
    const letsGo =
      budgetsOf(pod, budgets).length > 0 && evictionRefusal(pod, budgets) === undefined;
    if (letsGo) return backoffMs({ firstMs: SOONEST_MS, maxMs: RETRY_MS }, refusals);
    const saidMs = retryAfterSeconds === undefined ? RETRY_MS : retryAfterSeconds * 1000;
    return Math.min(RETRY_MS, Math.max(SOONEST_MS, saidMs));
  }

  /** Pods whose budget now allows it are asked at once. */
  budgetsChanged(): void {
    const budgets = this.#facts.budgets();
    for (const watched of this.#leaving()) {
      if (watched.refusedSince === undefined || watched.asking) continue;
      if (evictionRefusal(watched.pod, budgets) === undefined) this.#set({ ...watched, askAt: 0 });
    }
  }

  nextDueMs(): number {
    const now = this.#facts.now();
    const due = this.#leaving()
      .filter(({ asking, pod }) => !asking && !isTerminating(pod))
      .map(({ askAt = 0 }) => Math.max(0, askAt - now));
    return Math.min(RETRY_MS, ...due);
  }

  /** The longest first. A silent watch precedes them; before the list, why it is missing. */
  blockers(): readonly Blocker[] {
    if (!this.#isListed) return [this.#listBlocker()];
    return [...this.#silenceBlocker(), ...this.#podBlockers()];
  }

  progress(): DrainProgress {
    const remaining = this.blockers().slice(0, SHOWN);
    return {
      evicted: this.#evicted,
      remaining: remaining.map(({ since: _, ...blocker }) => blocker),
      remainingCount: this.#leaving().length,
    };
  }

  #listBlocker(): Blocker {
    const pods = `the pods of node ${this.#facts.node}`;
    const blocker =
      this.#silence === undefined
        ? `${pods} are not listed yet`
        : `${pods} cannot be listed: ${this.#silence.reason}`;
    return { blocker, since: this.#startedAt };
  }

  #silenceBlocker(): readonly Blocker[] {
    if (this.#silence === undefined) return [];
    const { reason, since } = this.#silence;
    if (this.#facts.now() - since < RESUMES_WITHIN_MS) return [];
    return [
      { blocker: `the pods of node ${this.#facts.node} cannot be followed: ${reason}`, since },
    ];
  }

  #podBlockers(): readonly Required<Blocker>[] {
    const budgets = this.#facts.budgets();
    return this.#leaving()
      .map((watched) => ({
        pod: nameOf(watched.pod),
        blocker: sentence(watched, budgets),
        since: sinceOf(watched) ?? this.#startedAt,
      }))
      .sort((a, b) => a.since - b.since || (a.pod < b.pod ? -1 : 1));
  }

  #see(pod: Pod): void {
    const watched = this.#pods.get(uidOf(pod));
    this.#set(watched === undefined ? { pod, asking: false } : { ...watched, pod });
  }

  #set(watched: Watched): void {
    this.#pods.set(uidOf(watched.pod), watched);
  }

  /** Judged at each call: `skipWaitForDeleteTimeoutSeconds` depends on the clock. */
  #judged(): readonly JudgedPod[] {
    const pods = [...this.#pods.values()].map(({ pod }) => pod);
    return judgePods(pods, this.#context(pods));
  }

  #leaving(): readonly Watched[] {
    return this.#judged()
      .filter(({ verdict }) => verdict !== 'skip')
      .flatMap(({ pod }) => this.#pods.get(uidOf(pod)) ?? []);
  }

  #context(pods: readonly Pod[]): DrainContext {
    const { gracePeriodSeconds, skipWaitForDeleteTimeoutSeconds } = this.#drain;
    return {
      now: new Date(this.#facts.now()).toISOString(),
      missingDaemonSets: this.#facts.missingDaemonSets(pods),
      options: {
        ...MCO_DRAIN_OPTIONS,
        ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
        ...(skipWaitForDeleteTimeoutSeconds === undefined
          ? {}
          : { skipWaitForDeleteTimeoutSeconds }),
      },
    };
  }
}

function sentence(watched: Watched, budgets: readonly PodDisruptionBudget[]): string {
  const { pod, said, refusedSince } = watched;
  const isExplained = evictionRefusal(pod, budgets) !== undefined || isTerminating(pod);
  if (said === undefined || refusedSince === undefined || isExplained) {
    return blockerOf(pod, budgets);
  }
  return `waiting for pod ${nameOf(pod)} (${said})`;
}

function sinceOf({ pod, refusedSince }: Watched): number | undefined {
  const since = terminatingSince(pod);
  return since === undefined ? refusedSince : Date.parse(since);
}

function uidOf(pod: Pod): string {
  return pod.metadata.uid ?? nameOf(pod);
}
