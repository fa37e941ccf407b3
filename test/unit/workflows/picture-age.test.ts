import { PictureAge } from '../../../workflows/picture-age';

const told = (nodes: number, pools = 7) => ({ nodes, pools, policies: 0 });

beforeEach(() => {
  jest.useFakeTimers({ now: 0 });
});

afterEach(() => {
  jest.useRealTimers();
});

/** Makes checks of the pool read outdated caches for this time. */
function failFor(age: PictureAge, ms: number): void {
  age.lookWasBehind();
  jest.advanceTimersByTime(ms);
  age.lookWasBehind();
}

it('is any, until the first check or message', () => {
  expect(new PictureAge().ofNextLook()).toEqual({});
});

it('is the newest version of checks and messages, by kind', () => {
  const age = new PictureAge();
  age.hear(told(12));
  age.hear(told(10, 9));
  age.lookSucceeded({ nodes: 11, pools: 8, policies: 3 });

  expect(age.ofNextLook()).toEqual({ asNewAs: { nodes: 12, pools: 9, policies: 3 } });
  expect(age.asBefore()).toEqual({ asNewAs: { nodes: 11, pools: 8, policies: 3 } });
});

it('stays so while checks are behind', () => {
  const age = new PictureAge();
  age.lookSucceeded(told(20));
  age.hear(told(22));

  failFor(age, 179_999);

  expect(age.ofNextLook()).toEqual({ asNewAs: told(22) });
  expect(age.asBefore()).toEqual({ asNewAs: told(20) });
});

it('is of checks alone once a check has shown the version of the message', () => {
  const age = new PictureAge();
  age.hear(told(12));
  age.lookSucceeded(told(12));

  expect(age.carry()).toEqual({ asNewAs: told(12) });
});

describe('what no check can show for three minutes', () => {
  function givenUp(): PictureAge {
    const age = new PictureAge();
    age.hear(told(12));
    failFor(age, 180_000);
    return age;
  }

  it('counts no more, nor does what was seen, in a cluster that was restored from a backup', () => {
    const age = new PictureAge();
    age.lookSucceeded(told(12));
    failFor(age, 180_000);

    expect(age.ofNextLook()).toEqual({});
    expect(age.carry()).toEqual({});
  });

  it('counts no more, however often the message is repeated', () => {
    const age = givenUp();
    expect(age.ofNextLook()).toEqual({});

    age.hear(told(12));

    expect(age.ofNextLook()).toEqual({ asNewAs: { nodes: 0, pools: 0, policies: 0 } });
  });

  it.each([13, 11])('is not what is told later: version %i', (nodes) => {
    const age = givenUp();

    age.hear(told(nodes));

    expect(age.ofNextLook()).toEqual({ asNewAs: { nodes, pools: 0, policies: 0 } });
  });

  it('is given up although more messages arrive meanwhile, and in a later run', () => {
    const age = new PictureAge();
    age.hear(told(12));
    age.lookWasBehind();
    jest.advanceTimersByTime(180_000);
    age.hear(told(13));

    const next = new PictureAge(JSON.parse(JSON.stringify(age.carry())) as object);
    next.lookWasBehind();
    expect(next.ofNextLook()).toEqual({});

    const last = new PictureAge(JSON.parse(JSON.stringify(next.carry())) as object);
    last.hear(told(13));
    expect(last.ofNextLook()).toEqual({ asNewAs: { nodes: 0, pools: 0, policies: 0 } });
  });

  it('has its time anew when a check has succeeded', () => {
    const age = new PictureAge();
    age.hear(told(12));
    age.lookWasBehind();
    jest.advanceTimersByTime(120_000);
    age.lookSucceeded(told(12));

    failFor(age, 120_000);

    expect(age.ofNextLook()).toEqual({ asNewAs: told(12) });
  });
});

it('carries nothing when there is nothing', () => {
  expect(new PictureAge().carry()).toEqual({});
});
