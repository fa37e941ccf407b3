import { watchContact } from '../../../../process/temporal/contact';

/** A connection whose calls end like this, in order. */
function answering(...answers: readonly (undefined | { readonly code?: number })[]) {
  const left = [...answers];
  const getSystemInfo = async () => {
    const answer = left.shift();
    if (answer !== undefined) throw Object.assign(new Error('14 UNAVAILABLE: gone'), answer);
    return {};
  };
  return {
    workflowService: { getSystemInfo },
    withDeadline: <Result>(_deadline: number | Date, call: () => Promise<Result>) => call(),
  } as unknown as Parameters<typeof watchContact>[0];
}

async function heard(connection: Parameters<typeof watchContact>[0]): Promise<string> {
  const stop = new AbortController();
  let word = '';
  const hear = (what: string) => {
    word = what;
    stop.abort();
  };
  await watchContact(connection, stop.signal, {
    onAnswer: () => hear('answer'),
    onSilence: (reason) => hear(reason),
    isUrgent: () => true,
  });
  return word;
}

describe('whether Temporal answers', () => {
  it('is yes when it does, also when it refuses', async () => {
    expect(await heard(answering(undefined))).toBe('answer');
    expect(await heard(answering({ code: 7 }))).toBe('answer');
  });

  it.each([{ code: 1 }, { code: 2 }, { code: 4 }, { code: 14 }, {}])(
    'is no when nobody sent %p',
    async (failure) => {
      expect(await heard(answering(failure))).toBe('14 UNAVAILABLE: gone');
    },
  );
});
