import { setImmediate as nextTurn } from 'node:timers/promises';
import { createLifetime, type Lifetime } from '../../hosts/lifetime';

let lifetime: Lifetime;
let ended: string[];

beforeEach(() => {
  lifetime = createLifetime(0);
  ended = [];
});

const own = (name: string) =>
  lifetime.own(
    () => name,
    (started) => ended.push(started),
  );

/** A start or work that the test lets go on. */
function gate() {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { open, opened };
}

test('what was started ends in the opposite order, once', async () => {
  expect(await own('first')).toBe('first');
  await own('second');

  await lifetime.end();
  await lifetime.end();

  expect(ended).toEqual(['second', 'first']);
});

test('an end that fails does not keep the others from ending', async () => {
  const fail = (text: string) =>
    lifetime.own(
      () => text,
      () => Promise.reject(new Error(text)),
    );
  await own('first');
  await fail('second fails');
  await own('third');
  await fail('fourth fails');

  await expect(lifetime.end()).rejects.toThrow('fourth fails\nsecond fails');

  expect(ended).toEqual(['third', 'first']);
});

test('a start that fails has no end', async () => {
  const starting = lifetime.own(
    () => Promise.reject(new Error('it does not start')),
    () => ended.push('failed'),
  );
  await expect(starting).rejects.toThrow('it does not start');

  await lifetime.end();

  expect(ended).toEqual([]);
});

test('nothing starts once the end has begun', async () => {
  await lifetime.end();

  await expect(own('late')).rejects.toThrow('not started, because everything ends');

  expect(ended).toEqual([]);
});

test('what is still starting when the end comes ends once it has started, and keeps nothing else', async () => {
  const { open, opened } = gate();
  await own('first');
  const starting = lifetime.own(
    () => opened,
    () => ended.push('second'),
  );

  const ending = lifetime.end();
  await own('third').catch(() => undefined);
  while (!ended.includes('first')) await nextTurn();
  open();
  await Promise.all([starting, ending]);

  expect(ended).toEqual(['first', 'second']);
});

test('the end waits for work, which learns of it from the signal, and says where it was', async () => {
  lifetime = createLifetime();
  const work = lifetime.during(async () => {
    await own('first');
    await new Promise((resolve) => lifetime.signal.addEventListener('abort', resolve));
    ended.push('work');
    await own('second');
  });
  await nextTurn();

  await expect(lifetime.end()).rejects.toThrow('not started, because everything ends');

  await expect(work).rejects.toThrow();
  expect(ended).toEqual(['work', 'first']);
});

test('what deaf work needs ends beneath it, so that it fails', async () => {
  const { open, opened } = gate();
  const work = lifetime.during(async () => {
    await lifetime.own(() => 'server', open);
    await opened;
    throw new Error('the server is gone');
  });

  await expect(lifetime.end()).rejects.toThrow('the server is gone');

  await expect(work).rejects.toThrow('the server is gone');
});

test('work that has failed before the end is not reported twice', async () => {
  const work = lifetime.during(async () => {
    await own('first');
    throw new Error('half way');
  });
  await expect(work).rejects.toThrow('half way');

  await lifetime.end();

  expect(ended).toEqual(['first']);
});
