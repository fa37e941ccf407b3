/**
 * Workflows that stand still without naming a blocker (I6), grants that no update uses (I6), and
 * marks on nodes without an update (I2), by looks now and then. Time without looks does not count.
 */

import { excuseOfRollout } from './excuses';
import { homesOf } from './membership';
import type { ObservedNode, ObservedStatus } from './observed';
import type { RolloutRecord } from './record';
import { CORDONED_BY, UPDATE_TAINT } from './record';

/** Then a wait must have a named blocker. */
export const SILENCE_MS = 60_000;
/** Earlier than `SILENCE_MS`, so that there is time to answer. */
const ASK_AFTER_MS = 45_000;
/**
 * Then a workflow without an answer counts as silent. Until then Temporal or a cluster worker may
 * be absent, which is no fault of the workflow.
 */
export const UNANSWERED_MS = 300_000;

/**
 * One after the other, the updates of a large pool take over a minute; all at once, they would be
 * load themselves.
 */
const ASKED_AT_ONCE = 8;

/** One or two failed looks are no absence of Temporal. */
const ABSENCE_MS = 10_000;

export interface OpenWorkflows {
  readonly ids: ReadonlySet<string>;
}

/** The answer of a workflow. */
export interface Word {
  readonly runs: boolean;
  /** Absent = it names none. */
  readonly blocker?: string;
}

/** About one update or rollout. */
interface Inquiry {
  /** @throws the error that kept question or answer from arriving */
  ask(workflowId: string): Promise<Word>;
}

type Answer = 'says for what' | 'says nothing' | 'has ended' | 'no answer';

interface Silent {
  readonly invariant: 'I2' | 'I6';
  readonly subject: string;
  readonly text: string;
}

interface Watched {
  sign: string;
  sinceMs: number;
  unansweredSinceMs?: number;
  told: boolean;
}

const GROUP = 'machineconfiguration.openshift.io';
const OURS = 'slipway.dev/';
const UPDATE = 'update-node/';
const ROLLOUT = 'pool-rollout/';

/** How long each thing has looked the same. */
export class Silence {
  readonly #watched = new Map<string, Watched>();
  /** When the first failed look was tried; undefined = the last look succeeded. */
  #blindSinceMs: number | undefined;

  constructor(
    private readonly record: RolloutRecord,
    private readonly inquiry: Inquiry,
  ) {}

  /**
   * The time until the next look does not count. The time before still does: otherwise a look that
   * fails now and then would excuse everything.
   *
   * @param triedMs - when the failed look began
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
    // Many questions take minutes on a busy machine: what has moved meanwhile was asked too late.
    const signs = new Map(this.#waiting(open).map(({ key, sign }) => [key, sign]));
    const found: Silent[] = [];
    for (const [index, { key, silent, watched, excuse }] of due.entries()) {
      const answer = answers[index] ?? 'no answer';
      const goesOn = answer === 'has ended' || isExcused(answer, excuse);
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
    // After a real absence, everything has a moment to go on.
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
      ...this.#unusedGrants(open),
      ...this.#forgotten(open),
    ];
  }

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

  /** Slipway's marks on nodes without an update. */
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

  /**
   * The taint of nodes that will be drained, without a rollout. Nodes lose it one after the other.
   */
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

  /**
   * Grants of open rollouts that no update of their node uses, although the node serves. One whose node is out of
   * service goes on until it is back.
   */
  #unusedGrants({ ids }: OpenWorkflows): readonly Waiting[] {
    const open = this.record.rollouts.filter(({ name }) => ids.has(`${ROLLOUT}${name}`));
    return open.flatMap(({ name: pool, grants }) =>
      grants
        .filter(({ node }) => !ids.has(`${UPDATE}${node}`) && this.#serves(node))
        .map(({ node, run }) => ({
          key: `grant ${pool} ${node} ${run}`,
          sign: '',
          silent: {
            invariant: 'I6',
            subject: node,
            text: `it has a grant of pool ${pool}, and no update of it runs`,
          },
        })),
    );
  }

  /** One that is gone is not waited for. */
  #serves(name: string): boolean {
    const node = this.record.node(name);
    return node === undefined || (node.ready && !node.unschedulable);
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
        const updates = members.filter((node) => ids.has(`${UPDATE}${node.name}`)).length;
        const excuse = excuseOfRollout(this.record.rollout(name), updates);
        const silent = { invariant: 'I6', subject: name, text } as const;
        return [{ key: id, sign, ask: id, silent, ...(excuse === undefined ? {} : { excuse }) }];
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
  // After an absence there is a moment to answer.
  watched.sinceMs = nowMs - ASK_AFTER_MS;
  return nowMs - watched.unansweredSinceMs >= UNANSWERED_MS;
}

function unanswered({ invariant, subject }: Silent): Silent {
  return { invariant, subject, text: 'waits, and nobody answers who asks for what' };
}

function isExcused(answer: Answer, excuse: string | undefined): boolean {
  return answer === 'says for what' || (answer === 'says nothing' && excuse !== undefined);
}

interface Waiting {
  readonly key: string;
  /** Changes with everything that a person could see. */
  readonly sign: string;
  /** The workflow that may name the blocker. */
  readonly ask?: string;
  /** What it waits for, if the API server shows that; it counts where the workflow answers. */
  readonly excuse?: string;
  readonly silent: Silent;
}

/** The pool is not held by a person. */
function isWanted({ target, paused, annotations }: ObservedStatus): boolean {
  return target !== '' && !paused && annotations[`${OURS}rollout-cancelled`] !== target;
}

/**
 * Its pool rolls; the node is not on the target, has not failed on it, and is not held by a person.
 */
function isInLine(node: ObservedNode, pool: ObservedStatus): boolean {
  const { annotations: told } = node;
  const state = told[`${GROUP}/state`];
  const isOut = state === 'Degraded' || state === 'Unreconcilable';
  const hasFailed = isOut && told[`${GROUP}/desiredConfig`] === pool.target;
  const isHeld = told[`${OURS}held-for`] === pool.target;
  return isWanted(pool) && isBehind(node, pool.target) && !hasFailed && !isHeld;
}

/** Also without a config, or on a config of another pool. */
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
