import { allSeen, BLIND_MS, Sight } from '../../observer/sight';

interface Scene {
  readonly sight: Sight;
  readonly told: string[];
}

function scene(): Scene {
  const told: string[] = [];
  return { sight: new Sight('Temporal', 0, ({ place }) => told.push(place)), told };
}

test('an observer that polls is blind between two checks', () => {
  const { sight, told } = scene();
  for (const atMs of [1_000, 4_000, 11_000, 14_000]) {
    sight.looked(atMs);
    sight.lost(atMs);
  }
  expect(sight.seen(15_000)).toEqual({ looks: 4, blindSeconds: 7 });
  expect(told).toEqual([]);
});

test('an observer that watches is blind from the cut of its connection to the next event', () => {
  const { sight } = scene();
  sight.looked(100);
  sight.lost(60_000);
  sight.lost(61_000);
  sight.looked(62_500);
  expect(sight.seen(500_000)).toEqual({ looks: 2, blindSeconds: 2.5 });
});

test('what was never checked is blind from the beginning', () => {
  const { sight } = scene();
  expect(sight.seen(9_000)).toEqual({ looks: 0, blindSeconds: 9 });
});

test('a blind time that is too long is reported once while it lasts, and so is the next one', () => {
  const { sight, told } = scene();
  sight.looked(0);
  sight.lost(0);
  sight.check(BLIND_MS);
  expect(told).toEqual([]);
  sight.check(BLIND_MS + 1);
  sight.check(2 * BLIND_MS);
  expect(told).toEqual(['Temporal']);
  sight.looked(2 * BLIND_MS);
  sight.lost(2 * BLIND_MS);
  sight.check(3 * BLIND_MS + 1);
  expect(told).toEqual(['Temporal', 'Temporal']);
});

test('one that is over before the first question is reported as well', () => {
  const { sight, told } = scene();
  sight.looked(BLIND_MS + 1);
  expect(told).toEqual(['Temporal']);
});

test('several are as blind as the blindest', () => {
  const [one, other] = [scene().sight, scene().sight];
  one.looked(1_000);
  other.looked(2_000);
  other.looked(3_000);
  expect(allSeen([one, other], 5_000)).toEqual({ looks: 3, blindSeconds: 2 });
});
