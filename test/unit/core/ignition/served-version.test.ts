import { servedVersion } from '../../../../core/ignition';

const IGNITION = 'application/vnd.coreos.ignition+json';

describe('the version that a machine gets', () => {
  it.each([
    [undefined, '2.2'],
    ['', '2.2'],
    ['*/*', '2.2'],
    ['application/json', '2.2'],
    ['garbage', '2.2'],
    [';;;,,;=;,q=', '2.2'],
    [IGNITION, '2.2'],
    [`${IGNITION};version=3`, '2.2'],
    [`${IGNITION};version="3.4.0"`, '2.2'],
    [`${IGNITION};version=2.2.0`, '2.2'],
    [`${IGNITION};version=2.4.0`, '2.2'],
    [`${IGNITION};version=2.99.99`, '2.2'],
    [`${IGNITION};version=3.1.0`, '3.1'],
    [`${IGNITION};version=3.2.0`, '3.2'],
    [`${IGNITION}; version=3.3.0`, '3.3'],
    [`${IGNITION};version=3.4.0`, '3.4'],
    [`${IGNITION};version=3.5.7`, '3.5'],
    [`${IGNITION};version=3.6.0`, '3.5'],
    [`${IGNITION};version=3.6.0-experimental`, '3.5'],
    [`${IGNITION};version=oops;version=3.4.0`, '3.4'],
    // As Ignition 2 and Ignition 0 ask.
    [`${IGNITION};version=3.4.0, */*;q=0.1`, '3.4'],
    [`${IGNITION}; version=2.4.0, ${IGNITION}; version=1; q=0.5, */*; q=0.1`, '2.2'],
    [`${IGNITION};version=3.2.0;q=0.2, ${IGNITION};version=3.4.0;q=0.9`, '3.4'],
    [`${IGNITION};version=3.2.0;q=high, ${IGNITION};version=3.4.0;q=0.9`, '3.2'],
    [`${IGNITION};version=3.2.0, ${IGNITION};version=3.4.0`, '3.2'],
    // A version that cannot be served is skipped if another can.
    [`${IGNITION};version=4.0.0, ${IGNITION};version=3.4.0;q=0.1`, '3.4'],
  ])('%s gets %s', (accept, version) => {
    expect(servedVersion(accept)).toEqual({ version });
  });

  it.each([
    [`${IGNITION};version=1.0.0`, 'unsupported'],
    [`${IGNITION};version=2.0.0`, 'unsupported'],
    [`${IGNITION};version=2.1.0`, 'unsupported'],
    [`${IGNITION};version=4.0.0`, 'unsupported'],
    [`${IGNITION};version=4.0.0, */*;q=0.1`, 'unsupported'],
    [`${IGNITION};version=3.0.0`, 'untranslatable'],
    [`${IGNITION};version=3.0.9`, 'untranslatable'],
  ])('%s is refused as %s', (accept, refused) => {
    expect(servedVersion(accept)).toEqual({ refused });
  });

  it('reads a header of any length without taking long over it', () => {
    const accept = `${';,=/'.repeat(4_000)}, ${IGNITION};version=3.3.0`;

    expect(servedVersion(accept)).toEqual({ version: '3.3' });
  });
});
