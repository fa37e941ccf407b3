import { judgeBy } from '../../../../server/codec/readers';

/** As the API server answers; counts its questions. */
function apiServer(mayRead: boolean) {
  const asked: { readonly kind?: string; readonly spec?: object }[] = [];
  const ask = async (_path: string, body: object): Promise<unknown> => {
    const question = body as { readonly kind: string; readonly spec: { readonly token?: string } };
    asked.push(question);
    if (question.kind === 'SubjectAccessReview') return { status: { allowed: mayRead } };
    if (question.spec.token !== 'good') return { status: { authenticated: false, user: {} } };
    const user = { username: 'ada', uid: '7', groups: ['ops'], extra: { scopes: ['a'] } };
    return { status: { authenticated: true, user } };
  };
  return { asked, client: { ask } };
}

it.each([true, false])('the user of the token is judged as a whole: %p', async (mayRead) => {
  const { asked, client } = apiServer(mayRead);

  expect(await judgeBy(client)('good')).toEqual({ username: 'ada', mayRead });
  expect(asked[1]).toMatchObject({
    kind: 'SubjectAccessReview',
    spec: {
      ...{ user: 'ada', uid: '7', groups: ['ops'], extra: { scopes: ['a'] } },
      resourceAttributes: { group: 'slipway.dev', resource: 'payloads', verb: 'get' },
    },
  });
});

it('a token of nobody is nobody', async () => {
  const { asked, client } = apiServer(true);

  expect(await judgeBy(client)('forged')).toBeUndefined();
  expect(asked).toHaveLength(1);
});

it('a verdict is remembered for ten seconds, and a failed question not at all', async () => {
  let nowMs = 0;
  const { asked, client } = apiServer(true);
  const judge = judgeBy(client, () => nowMs);
  await judge('good');
  nowMs += 9_999;
  await judge('good');
  expect(asked).toHaveLength(2);
  nowMs += 1;
  await judge('good');
  expect(asked).toHaveLength(4);

  let isAway = true;
  const shaky = judgeBy({
    ask: (path, body) => (isAway ? Promise.reject(new Error('away')) : client.ask(path, body)),
  });
  await expect(shaky('good')).rejects.toThrow('away');
  isAway = false;
  expect(await shaky('good')).toMatchObject({ mayRead: true });
});
