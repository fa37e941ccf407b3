import * as resources from '../../../../adapters/kube/resources';
import { RELATED_OBJECTS } from '../../../../core/operator-status/related-objects';

const GROUPS = ['machineconfiguration.openshift.io', 'slipway.dev'];

it('have every kind of MCO and Slipway that the processes read', () => {
  const read = Object.values(resources).flatMap((one) =>
    typeof one === 'object' && GROUPS.includes(one.group) ? [`${one.group}/${one.plural}`] : [],
  );

  expect(read.length).toBeGreaterThan(8);
  expect(RELATED_OBJECTS.map(({ group, resource }) => `${group}/${resource}`)).toEqual(
    expect.arrayContaining(read),
  );
});
