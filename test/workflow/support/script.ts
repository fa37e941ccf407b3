import type {
  RolloutActivities,
  SeenVersions,
  StepInput,
  StepResult,
  Word,
} from '../../../workflows/contracts/rollout';

/** What the rollout of a pool is answered, and what it has asked. */
export class Script implements RolloutActivities {
  readonly steps: StepInput[] = [];
  readonly words: Word[] = [];
  /** @param times - counts the steps, this one too */
  answer: (input: StepInput, times: number) => Partial<StepResult> | Promise<Partial<StepResult>> =
    () => ({});
  /** Resolves to the version of the pool that shows the word; 0 = none. */
  onWord: (word: Word) => Promise<number> | number = () => 0;
  readonly #listeners: (() => void)[] = [];

  async step(input: StepInput): Promise<StepResult> {
    this.steps.push(input);
    for (const listener of this.#listeners.splice(0)) listener();
    const answer = await this.answer(input, this.steps.length);
    return {
      ...{ config: 'rendered-x', state: 'Rolling', updated: '0 of 3' },
      ...{ granted: [], grantedCount: 0, lookAgainSeconds: 600, versions: { nodes: 10 } },
      ...answer,
    };
  }

  async writeWord({ word }: { readonly word: Word }): Promise<SeenVersions> {
    this.words.push(word);
    const version = await this.onWord(word);
    return version === 0 ? {} : { pools: version };
  }

  async untilSteps(count: number): Promise<void> {
    while (this.steps.length < count) {
      await new Promise<void>((resolve) => this.#listeners.push(resolve));
    }
  }
}
