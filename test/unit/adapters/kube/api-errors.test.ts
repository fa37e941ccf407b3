import { refusal, refusalText, unreachable } from '../../../../adapters/kube/api-errors';

const answer = (code: number, message: string) =>
  refusal('create MachineConfig a', { code, message, causes: [] });

test.each([
  [422, 'spec: Invalid value', 'create MachineConfig a: spec: Invalid value'],
  [403, 'exceeded quota', 'create MachineConfig a: exceeded quota'],
  [
    500,
    'failed calling webhook "w": read tcp 10.0.0.1:40312->10.0.0.2:443: connection reset by peer',
    'create MachineConfig a: failed calling webhook "w": read tcp 10.0.0.2:443: connection reset by peer',
  ],
])('%i %s is said against the write', (code, message, expected) => {
  expect(refusalText(answer(code, message))).toBe(expected);
});

test.each([
  answer(401, 'Unauthorized'),
  answer(404, 'not found'),
  answer(409, 'already exists'),
  answer(429, 'too many requests'),
  answer(500, 'etcdserver: request timed out'),
  answer(503, 'unavailable'),
  unreachable('create MachineConfig a', 'ECONNREFUSED'),
  new Error('a bug'),
])('%s is not', (error) => {
  expect(refusalText(error)).toBeUndefined();
});
