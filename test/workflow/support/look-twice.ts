import type { FakeWorld } from './fake-world';

/** Whatever follows from what the rollout knows now is decided when this returns. */
export async function lookTwice(world: FakeWorld): Promise<void> {
  const looks = () => world.stepsOf('').filter((step) => step === 'selectNodes').length;
  for (let times = 0; times < 2; times += 1) {
    const before = looks();
    await world.tell('look again');
    await world.until(() => looks() > before);
  }
}
