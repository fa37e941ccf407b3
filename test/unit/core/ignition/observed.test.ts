import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { messageOf } from '../../../../core/errors';
import { mergeSources } from '../../../../core/machine-config/merge';
import { Source } from '../../../../core/machine-config/source';
import { refuseSpecialModes } from '../../../../core/ignition';
import { validateMachineConfig } from '../../../../core/machine-config/validate';
import { nodePorts } from '../../../conformance/render-ports';

interface Observed {
  readonly configs: readonly string[];
  readonly merged?: unknown;
  readonly error?: string;
}

const FILE = join(__dirname, '../../../fixtures/render/ignition-merge.json');
const { cases } = JSON.parse(readFileSync(FILE, 'utf8')) as { cases: readonly Observed[] };

/** As the render controller merges, without MCO's own limit on modes, which the fixture lacks. */
function merge(configs: readonly string[]): unknown {
  const sources = configs.map(
    (config, i) =>
      new Source({ metadata: { name: `${i}`, labels: {} }, spec: { config } }, nodePorts),
  );
  for (const source of sources) {
    try {
      validateMachineConfig(source);
    } catch (error) {
      if (!messageOf(error).startsWith('invalid mode')) throw error;
    }
  }
  return mergeSources(sources, { osImage: '', extensionsImage: '' }).config;
}

describe('what Ignition was observed to answer', () => {
  test.each(cases.map((observed, i) => [i, observed] as const))('case %i', (_, observed) => {
    if (observed.error === undefined) {
      expect(merge(observed.configs)).toEqual(observed.merged);
    } else {
      expect(() => merge(observed.configs)).toThrow(observed.error);
    }
  });

  test('the fixture has accepted and refused configs', () => {
    const refused = cases.filter((observed) => observed.error !== undefined);
    expect(refused.length).toBeGreaterThan(50);
    expect(cases.length - refused.length).toBeGreaterThan(50);
  });
});

describe('modes', () => {
  const withMode = (mode: number) => ({ storage: { files: [{ path: '/a', mode }] } });

  test('permission bits only', () => {
    expect(() => refuseSpecialModes(withMode(0o777))).not.toThrow();
    expect(() => refuseSpecialModes(withMode(0o4755))).toThrow(
      'invalid mode 04755 for /a, cannot exceed 0777',
    );
  });
});
