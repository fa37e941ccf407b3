import { settingFaults } from '../../../../core/operator-status';

const object = (type: string, status: string) => ({
  metadata: { name: 'any' },
  status: { conditions: [null, { type, status, message: 'spec.files[0].path is wrong' }] },
});
const POLICY = 'NodeDisruptionPolicyDegraded';
const TEMPLATES = 'TemplateControllerFailing';

it('what the settings of the cluster say is a fault, first that of the MachineConfiguration', () => {
  expect(settingFaults(object(TEMPLATES, 'True'), object(POLICY, 'True'))).toEqual([
    { reason: 'MachineConfigurationFailed', message: 'spec.files[0].path is wrong' },
    {
      reason: 'MachineConfigControllerFailed',
      message: 'the ControllerConfig fails: spec.files[0].path is wrong',
    },
  ]);
});

it.each([
  ['absent', undefined, undefined],
  ['without a status', { metadata: { name: 'any' } }, { metadata: { name: 'any' } }],
  ['well', object(TEMPLATES, 'False'), object(POLICY, 'False')],
])('settings that are %s have none', (_what, controllerConfig, machineConfiguration) => {
  expect(settingFaults(controllerConfig, machineConfiguration)).toEqual([]);
});
