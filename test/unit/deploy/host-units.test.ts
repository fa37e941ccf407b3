/** The units before the kubelet, and their order before each name of its unit. */

import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KUBELET_UNITS } from '../../../core/machine/kubelet';
import { repositoryRoot } from '../../../tools/repository-root';

const UNITS = join(repositoryRoot(), 'deploy/host');

/** All values of a directive, which may occur several times. */
function wordsOf(unit: string, directive: string): readonly string[] {
  return readFileSync(join(UNITS, unit), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith(`${directive}=`))
    .flatMap((line) => line.slice(directive.length + 1).split(' '));
}

describe.each(['slipway-host-settle.service', 'slipway-host-first-boot.service'])('%s', (unit) => {
  it('comes before the kubelet, whatever that is called, and keeps it from starting', () => {
    expect(KUBELET_UNITS).toEqual([
      'kubelet.service',
      'k3s.service',
      'k3s-agent.service',
      'rke2-server.service',
      'rke2-agent.service',
    ]);
    expect(wordsOf(unit, 'Before')).toEqual(expect.arrayContaining([...KUBELET_UNITS]));
    expect(wordsOf(unit, 'RequiredBy')).toEqual(KUBELET_UNITS);
  });

  it('is enabled by systemd on a machine that has only one of them', () => {
    const root = mkdtempSync(join(tmpdir(), 'slipway-units-'));
    try {
      const directory = join(root, 'etc/systemd/system');
      mkdirSync(directory, { recursive: true });
      cpSync(join(UNITS, unit), join(directory, unit));

      execFileSync('systemctl', [`--root=${root}`, 'enable', unit], { stdio: 'pipe' });

      for (const kubelet of KUBELET_UNITS) {
        expect(readdirSync(join(directory, `${kubelet}.requires`))).toEqual([unit]);
      }
    } finally {
      rmSync(root, { recursive: true, force: true });
    }
  });
});

it('no other unit knows a kubelet by name', () => {
  const others = readdirSync(UNITS).filter(
    (name) => name.endsWith('.service') && !/-(settle|first-boot)\.service$/.test(name),
  );
  const named = others.filter((name) =>
    KUBELET_UNITS.some((unit) => readFileSync(join(UNITS, name), 'utf8').includes(unit)),
  );

  expect(others).toHaveLength(2);
  expect(named).toEqual([]);
});
