/**
 * What stands still without a word (I6), and what is left on a node that nobody works on (I2). Judged
 * by looks that somebody takes now and then; a time in which nobody could look does not count.
 */

import { homesOf } from './membership';
import type { ObservedNode, ObservedStatus } from './observed';
import type { RolloutRecord } from './record';
import { CORDONED_BY, UPDATE_TAINT } from './record';

/** Whatever waits longer than this must say for what. */
export const SILENCE_MS = 60_000;
/** Before it is over: what is asked has time to answer. */
const ASK_AFTER_MS = 45_000;
/**
 * Who does not answer for as long is as good as silent. Until then it is whoever should have carried the
 * question (Temporal, a cluster worker) that is away, which is no fault of what waits.
 */
export const UNANSWERED_MS = 300_000;

/** One after the other, the updates of a large pool take over a minute; all at once, they would be load themselves. */
const ASKED_AT_ONCE = 8;

/** A look or two that fail are no absence of Temporal. */
const ABSENCE_MS = 10_000;

/** What Temporal shows at one moment. */
export interface OpenWorkflows {
  /** IDs of the workflows that run. */
  readonly ids: ReadonlySet<string>;
}

/** What a workflow is found to be when it is asked. */
export interface Word {
  readonly runs: boolean;
  /** The sentence that says what it waits for; absent = it says none. */
  readonly blocker?: string;
}

/** What the observer can ask about one node update or rollout. */
export interface Inquiry {
  /** @throws whatever kept the question or its answer from arriving */
  ask(workflowId: string): Promise<Word>;
}

type Answer = 'says for what' | 'says nothing' | 'has ended' | 'no answer';

/** One thing that waits. */
export interface Silent {
  readonly invariant: 'I2' | 'I6';
  readonly subject: string;
  readonly text: string;
}

interface Watched {
  sign: string;
  sinceMs: number;
  /** Since when it has been asked in vain. */
  unansweredSinceMs?: number;
  told: boolean;
}

const GROUP = 'machineconfiguration.openshift.io';
const OURS = 'slipway.dev/';
const UPDATE = 'update-node/';
const ROLLOUT = 'pool-rollout/';

/** Remembers how long each thing has looked the same. */
export class Silence {
  readonly #watched = new Map<string, Watched>();
  /** When the first look was tried that failed; undefined = the last one did not. */
  #blindSinceMs: number | undefined;

  constructor(
    private readonly record: RolloutRecord,
    private readonly inquiry: Inquiry,
  ) {}

  /**
   * Nobody could look: the time until the next look does not count. What went before still does, or a look that fails
   * now and then would excuse everything.
   *
   * @param triedMs - when the look began that failed
   */
  interrupted(triedMs: number): void {
    this.#blindSinceMs ??= triedMs;
  }

  /** @returns what has been silent for too long, each once */
  async look(open: OpenWorkflows, nowMs: number): Promise<readonly Silent[]> {
    this.#excuseUntil(nowMs);
    const waiting = this.#waiting(open);
    const keys = new Set(waiting.map(({ key }) => key));
    for (const key of this.#watched.keys()) if (!keys.has(key)) this.#watched.delete(key);
    const due = waiting
      .map((one) => ({ ...one, watched: this.#watch(one.key, one.sign, nowMs) }))
      .filter(({ watched }) => isDue(watched, nowMs));
    const answers = await this.#askAll(due.map(({ ask }) => ask));
    // To ask many on a busy machine takes minutes: who has gone on meanwhile was asked too late to be judged.
    const signs = new Map(this.#waiting(open).map(({ key, sign }) => [key, sign]));
    const found: Silent[] = [];
    for (const [index, { key, silent, watched }] of due.entries()) {
      const answer = answers[index] ?? 'no answer';
      const goesOn = answer === 'says for what' || answer === 'has ended';
      if (goesOn || signs.get(key) !== watched.sign) this.#watched.delete(key);
      else if (isTooLong(watched, answer, nowMs)) {
        watched.told = true;
        found.push(answer === 'no answer' ? unanswered(silent) : silent);
      }
    }
    return found;
  }

  #excuseUntil(nowMs: number): void {
    if (this.#blindSinceMs === undefined) return;
    const blindMs = nowMs - this.#blindSinceMs;
    this.#blindSinceMs = undefined;
    // After a real absence, whatever stood still has a moment to go on.
    const latestMs = blindMs < ABSENCE_MS ? Number.NEGATIVE_INFINITY : nowMs - ASK_AFTER_MS;
    for (const watched of this.#watched.values()) {
      watched.sinceMs = Math.max(watched.sinceMs + blindMs, latestMs);
      if (watched.unansweredSinceMs !== undefined) watched.unansweredSinceMs += blindMs;
    }
  }

  #watch(key: string, sign: string, nowMs: number): Watched {
    const known = this.#watched.get(key);
    if (known?.sign === sign) return known;
    const watched = { sign, sinceMs: nowMs, told: false };
    this.#watched.set(key, watched);
    return watched;
  }

  /** @returns the answers in the order of the questions */
  async #askAll(workflowIds: readonly (string | undefined)[]): Promise<readonly Answer[]> {
    const answers: Answer[] = [];
    const left = workflowIds.entries();
    const askOn = async (): Promise<void> => {
      for (const [index, id] of left) answers[index] = await this.#ask(id);
    };
    await Promise.all(Array.from({ length: ASKED_AT_ONCE }, askOn));
    return answers;
  }

  async #ask(workflowId: string | undefined): Promise<Answer> {
    if (workflowId === undefined) return 'says nothing';
    try {
      const { runs, blocker = '' } = await this.inquiry.ask(workflowId);
      if (!runs) return 'has ended';
      return blocker === '' ? 'says nothing' : 'says for what';
    } catch {
      return 'no answer';
    }
  }

  #waiting(open: OpenWorkflows): readonly Waiting[] {
    return [
      ...this.#updates(open),
      ...this.#orphans(open),
      ...this.#leftTaints(open),
      ...this.#forgotten(open),
    ];
  }

  /** Updates that run. */
  #updates({ ids }: OpenWorkflows): readonly Waiting[] {
    return [...ids]
      .filter((id) => id.startsWith(UPDATE))
      .map((id) => {
        const name = id.slice(UPDATE.length);
        const node = this.record.node(name);
        const shown = this.record.machineConfigNode(name)?.conditions;
        return {
          key: id,
          sign: JSON.stringify([
            node?.annotations,
            node?.unschedulable,
            node?.ready,
            node?.bootID,
            shown,
          ]),
          ask: id,
          silent: {
            invariant: 'I6',
            subject: name,
            text: 'its update waits and does not say for what',
          },
        };
      });
  }

  /** Marks of ours on nodes that no update works on. */
  #orphans({ ids }: OpenWorkflows): readonly Waiting[] {
    return this.record.nodes
      .filter((node) => marksOf(node).length > 0 && !ids.has(`${UPDATE}${node.name}`))
      .map((node) => ({
        key: `orphan ${node.name}`,
        sign: JSON.stringify(marksOf(node)),
        silent: {
          invariant: 'I2',
          subject: node.name,
          text: `nothing works on it, and it carries ${marksOf(node).join(', ')}`,
        },
      }));
  }

  /** The taint of nodes that will be drained, where no rollout will. Of many, one after the other loses it. */
  #leftTaints({ ids }: OpenWorkflows): readonly Waiting[] {
    const { nodes, pools } = this.record;
    const tainted = nodes.filter(({ taints }) => taints.includes(UPDATE_TAINT));
    const homes = homesOf(nodes, pools);
    return tainted
      .filter(({ name }) => !ids.has(`${UPDATE}${name}`))
      .filter((node) => {
        const pool = pools.find(({ name }) => name === homes.get(node.name));
        return pool === undefined || !ids.has(`${ROLLOUT}${pool.name}`) || !isInLine(node, pool);
      })
      .map(({ name }) => ({
        key: `taint ${name}`,
        sign: String(tainted.length),
        silent: {
          invariant: 'I2',
          subject: name,
          text: `no rollout will drain it, and it carries taint ${UPDATE_TAINT}`,
        },
      }));
  }

  /** Pools that are behind, and rollouts that wait. */
  #forgotten({ ids }: OpenWorkflows): readonly Waiting[] {
    const { nodes, pools } = this.record;
    const homes = homesOf(nodes, pools);
    return pools.flatMap((pool) => {
      const { name, target } = pool;
      const members = nodes.filter((node) => homes.get(node.name) === name);
      const behind = members.filter((node) => isBehind(node, target)).length;
      if (behind === 0 || !isWanted(pool)) return [];
      const id = `${ROLLOUT}${name}`;
      const sign = `${target} ${behind} ${ids.has(id)}`;
      if (ids.has(id)) {
        const text = `its rollout is ${behind} nodes behind, waits, and does not say for what`;
        return [{ key: id, sign, ask: id, silent: { invariant: 'I6', subject: name, text } }];
      }
      const text = `${behind} nodes are behind, and no rollout runs`;
      return [{ key: `behind ${name}`, sign, silent: { invariant: 'I6', subject: name, text } }];
    });
  }
}

function isDue({ told, sinceMs }: Watched, nowMs: number): boolean {
  return !told && nowMs - sinceMs >= ASK_AFTER_MS;
}

function isTooLong(watched: Watched, answer: Answer, nowMs: number): boolean {
  if (answer !== 'no answer') {
    delete watched.unansweredSinceMs;
    return nowMs - watched.sinceMs >= SILENCE_MS;
  }
  watched.unansweredSinceMs ??= nowMs;
  // Whoever was away has a moment to say it, once back.
  watched.sinceMs = nowMs - ASK_AFTER_MS;
  return nowMs - watched.unansweredSinceMs >= UNANSWERED_MS;
}

function unanswered({ invariant, subject }: Silent): Silent {
  return { invariant, subject, text: 'waits, and nobody answers who asks for what' };
}

interface Waiting {
  readonly key: string;
  /** Changes with anything that a person could see. */
  readonly sign: string;
  /** Workflow that may say what it waits for. */
  readonly ask?: string;
  readonly silent: Silent;
}

/** People let the pool come to its target. */
function isWanted({ target, paused, annotations }: ObservedStatus): boolean {
  return target !== '' && !paused && annotations[`${OURS}rollout-cancelled`] !== target;
}

/** Its pool rolls, and it has neither come to the target nor failed on it, nor does a person hold it. */
function isInLine(node: ObservedNode, pool: ObservedStatus): boolean {
  const { annotations: told } = node;
  const state = told[`${GROUP}/state`];
  const isOut = state === 'Degraded' || state === 'Unreconcilable';
  const hasFailed = isOut && told[`${GROUP}/desiredConfig`] === pool.target;
  const isHeld = told[`${OURS}held-for`] === pool.target;
  return isWanted(pool) && isBehind(node, pool.target) && !hasFailed && !isHeld;
}

/** Also one that says nothing yet, or that it is on a config of another pool. */
function isBehind({ annotations }: ObservedNode, target: string): boolean {
  return annotations[`${GROUP}/currentConfig`] !== target;
}

function marksOf({ annotations, taints }: ObservedNode): readonly string[] {
  const owner = annotations[CORDONED_BY];
  return [
    ...(owner === undefined ? [] : [`a cordon of ${owner}`]),
    ...taints.filter((key) => key.startsWith(OURS)).map((key) => `taint ${key}`),
  ];
}
