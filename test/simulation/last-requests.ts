/**
 * What a person has said last of a pool, pause or resume, stands until somebody says otherwise: whatever is
 * late, repeated or done by a process that stood still. The last word is the one that was accepted last: each is
 * written when those before it are answered, so it is so when it is answered. The same goes for one node.
 */

import type { Node } from '../../core/node/types';

const HELD = 'slipway.dev/held-for';
const STATE = 'machineconfiguration.openshift.io/state';
/** What is asked of one node, and whether it is held after it. */
const HOLDS = new Map([
  ['skipNode', true],
  ['cancelNode', true],
  ['retryNode', false],
]);

/** What there is. */
interface Seen {
  isPaused(pool: string): boolean;
  node(name: string): Node | undefined;
}

/** A request, on its way. Whoever is refused has said nothing. */
interface Asked {
  accepted(): void;
  answered(isDone: boolean): void;
}

/** A request that was accepted, and has no answer yet. */
interface SaidWord {
  readonly paused: boolean;
  /** A person has written the pool himself since: nobody knows which came first. */
  isCrossed: boolean;
}

interface Said {
  /** In the order in which they were accepted. */
  readonly open: SaidWord[];
  /** What was said last; undefined = it cannot be told, because a request failed or was crossed. */
  paused: boolean | undefined;
}

export class LastRequests {
  private readonly said = new Map<string, Said>();

  /** @param onBroken - told in words what happened */
  constructor(
    private readonly seen: Seen,
    private readonly onBroken: (what: string) => void,
  ) {}

  asked(pool: string, name: string, node = ''): Asked {
    let accepted: SaidWord | undefined;
    let known: Node | undefined;
    const holds = HOLDS.get(name);
    return {
      accepted: () => {
        known = this.seen.node(node);
        if (name !== 'pause' && name !== 'resume') return;
        accepted = { paused: name === 'pause', isCrossed: false };
        this.of(pool).open.push(accepted);
      },
      answered: (isDone) => {
        if (accepted !== undefined) this.answered(pool, accepted, isDone);
        if (isDone && known !== undefined && holds !== undefined) this.judgeNode(known, holds);
      },
    };
  }

  private answered(pool: string, word: SaidWord, isDone: boolean): void {
    const said = this.of(pool);
    const { paused, isCrossed } = word;
    const place = said.open.indexOf(word);
    said.open.splice(place, 1);
    if (isDone && place > 0) {
      this.onBroken(`pool ${pool} is called ${nameOf(paused)} before a word of before is answered`);
    }
    said.paused = isDone && !isCrossed ? paused : undefined;
    // The next one is written after this answer.
    if (said.paused === undefined || this.seen.isPaused(pool) === paused) return;
    this.onBroken(`pool ${pool} is not ${nameOf(paused)}, and a person was told that it is`);
  }

  /** A person writes the pool itself. */
  wroteHimself(pool: string, paused: boolean): void {
    const said = this.of(pool);
    for (const word of said.open) word.isCrossed = true;
    said.paused = paused;
  }

  /** Slipway writes it. */
  wrote(pool: string, paused: boolean): void {
    const { open, paused: last } = this.of(pool);
    const [next] = open;
    const said = next === undefined ? last : next.paused;
    if (said === undefined || said === paused) return;
    const what = next === undefined ? 'without a word' : 'before its turn';
    this.onBroken(`pool ${pool} was ${nameOf(said)} by a person, and is ${nameOf(paused)} ${what}`);
  }

  /** Somebody has said last to go on, and has no answer yet: it may hold already. */
  isBeingResumed(pool: string): boolean {
    return this.of(pool).open.at(-1)?.paused === false;
  }

  private judgeNode({ metadata: { name, uid } }: Node, holds: boolean): void {
    const now = this.seen.node(name)?.metadata;
    const annotations = now?.annotations ?? {};
    const isHeld = annotations[HELD] !== undefined;
    // One that was registered again has no marks, and one whose update was past all stopping needs none.
    if (now?.uid !== uid || isHeld === holds || (holds && annotations[STATE] === 'Done')) return;
    const [told, is] = holds ? ['held', 'not'] : ['tried again', 'held'];
    this.onBroken(`a person was told that ${name} is ${told}, and it is ${is}`);
  }

  private of(pool: string): Said {
    const known = this.said.get(pool) ?? { open: [], paused: undefined };
    this.said.set(pool, known);
    return known;
  }
}

function nameOf(paused: boolean): string {
  return paused ? 'paused' : 'resumed';
}
