import { ANNOTATION } from '../../../../core/names';
import { preparedMark, preparedOf } from '../../../../core/node/prepared';

const RUN = { id: 'r1', startedAt: '2029-06-01T00:00:01Z' };
const CONFIG = 'rendered-worker-b';

function readBack(text?: string) {
  const annotations = text === undefined ? {} : { [ANNOTATION.PREPARED]: text };
  const spec = { node: { name: 'n' }, pool: { name: 'worker' }, configVersion: { desired: '' } };
  return preparedOf({ metadata: { name: 'n', annotations }, spec });
}

describe('what an update says once it is prepared', () => {
  it.each([true, false])('is read as it was written (serves: %s)', (serves) => {
    const { id: run, startedAt } = RUN;

    expect(readBack(preparedMark(RUN, CONFIG, serves))).toEqual({
      ...{ run, startedAt, serves, config: CONFIG },
    });
  });

  it.each([
    undefined,
    '',
    'r1',
    `v1/2029-06-01T00:00:01Z/r1`,
    `v1/yesterday/r1 ${CONFIG}`,
    `v1/2029-06-01T00:00:01Z/r1 ${CONFIG} sleeps`,
  ])('is nothing where it is not readable: %s', (text) => {
    expect(readBack(text)).toBeUndefined();
  });
});
