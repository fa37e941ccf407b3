import { refuseUnlessAdmitted } from '../../../controllers/render/admission';
import type { MachineConfig } from '../../../core/machine-config';

function aConfig(name: string, files: readonly object[]): MachineConfig {
  return {
    metadata: { name, labels: {} },
    spec: { config: { ignition: { version: '3.2.0' }, storage: { files } } },
  };
}

const full = aConfig('full', [{ path: '/etc/a', mode: 420, contents: { source: 'data:,a' } }]);
const modeOnly = aConfig('mode-only', [{ path: '/etc/a', mode: 384 }]);
const relative = aConfig('relative', [{ path: 'etc/a', contents: { source: 'data:,a' } }]);

it('refuses a bad MachineConfig every time, also after it was among good ones', () => {
  for (let look = 0; look < 3; look++) {
    expect(() => {
      refuseUnlessAdmitted([full, relative]);
    }).toThrow(/relative: .*path/);
    expect(() => {
      refuseUnlessAdmitted([full]);
    }).not.toThrow();
  }
});

it('takes a file without contents while another MachineConfig brings them', () => {
  refuseUnlessAdmitted([full, modeOnly]);

  expect(() => {
    refuseUnlessAdmitted([modeOnly]);
  }).toThrow('no MachineConfig of the pool gives /etc/a contents');
});
