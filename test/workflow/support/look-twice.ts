import type { FakeWorld } from './fake-world';

/** When this returns, the rollout has made all decisions that follow from its present knowledge. */
export async function lookTwice(world: FakeWorld): Promise<void> {
  const looks = () => world.stepsOf('').filter((step) => step === 'selectNodes').length;
  for (let times = 0; times < 2; times += 1) {
    const before = looks();
    await world.tell('look again');
    await world.until(() => looks() > before);
  }
}
