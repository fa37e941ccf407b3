/** A template and its instances: disabling the template removes the links of its instances. */

import { mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { findDrift } from '../../../../host/drift/compare';
import { repairDrift } from '../../../../host/drift/repair';
import { mergeDisruptionPolicies } from '../../../../core/disruption';
import type { IgnitionUnit } from '../../../../core/machine-config/types';
import { aConfig, aHost, bootInto, orderFor, type TestConfig, type TestHost } from '../a-host';

const wantedBy = (target: string, more = ''): string =>
  `[Service]\nExecStart=/bin/true %i\n[Install]\nWantedBy=${target}\n${more}`;

const TEMPLATE = { name: 't@.service', contents: wantedBy('x.target') };
const WITH_DEFAULT = { ...TEMPLATE, contents: wantedBy('x.target', 'DefaultInstance=one\n') };
const INSTANCE = { name: 't@two.service', enabled: true };

const config = (name: string, ...units: readonly IgnitionUnit[]): TestConfig =>
  aConfig(`rendered-worker-${name}`, { osImageURL: 'os@sha256:1', config: { systemd: { units } } });

let host: TestHost;
afterEach(() => host.remove());

const UNITS = 'etc/systemd/system';

function links(): readonly string[] {
  return readdirSync(join(host.root, UNITS), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.includes('.wants/'))
    .sort();
}

async function update(from: TestConfig, to: TestConfig): Promise<void> {
  host = await aHost([from, to]);
  await bootInto(host, from);
  const activities = await host.activities();
  await activities.prepareUpdate(orderFor(to, 'prepareUpdate'));
  await activities.applyUpdate(orderFor(to, 'applyUpdate'));
}

async function repair({ reference, spec }: TestConfig, path: string): Promise<void> {
  const policies = mergeDisruptionPolicies({
    units: ['t@.service', 't@two.service'].map((name) => ({ name, actions: [{ type: 'None' }] })),
  });
  await repairDrift(await host.ports(), {
    config: { reference, spec, raw: {} },
    findings: [{ path, kind: 'unit', detail: '', since: '' }],
    policies,
    mayRepair: () => true,
    mayDisturb: true,
    count: () => Promise.resolve(),
  });
}

const drift = async (on: TestConfig) => findDrift(await host.ports(), on.spec);

describe.each([
  ['before', (template: IgnitionUnit, instance: IgnitionUnit) => [template, instance]],
  ['after', (template: IgnitionUnit, instance: IgnitionUnit) => [instance, template]],
])('a template that the config lists %s its instance', (_place, both) => {
  it.each([
    ['is new, as the instance is', []],
    ['is new', [TEMPLATE, INSTANCE]],
  ])('and that is disabled leaves it enabled: it %s', async (_how, before) => {
    const to = config('new', ...both({ ...TEMPLATE, enabled: false }, INSTANCE));
    await update(config('old', ...before), to);

    expect(links()).toEqual(['x.target.wants/t@two.service']);
    expect(await drift(to)).toBeUndefined();
  });

  it('and that has other links than before takes it along', async () => {
    const changed = { ...TEMPLATE, contents: wantedBy('y.target') };
    const to = config('new', ...both(changed, INSTANCE));
    await update(config('old', ...both(TEMPLATE, INSTANCE)), to);

    expect(links()).toEqual(['y.target.wants/t@two.service']);
    expect(await drift(to)).toBeUndefined();
  });

  it.each([
    ['new, as the instance is', []],
    ['to be enabled now', [WITH_DEFAULT, INSTANCE]],
  ])('and that is enabled leaves it enabled: it is %s', async (_how, before) => {
    const to = config('new', ...both({ ...WITH_DEFAULT, enabled: true }, INSTANCE));
    await update(config('old', ...before), to);

    expect(links()).toEqual(['x.target.wants/t@one.service', 'x.target.wants/t@two.service']);
    expect(await drift(to)).toBeUndefined();
  });

  it('and that somebody has enabled is repaired, and the instance stays', async () => {
    const on = config('on', ...both({ ...WITH_DEFAULT, enabled: false }, INSTANCE));
    await update(config('old'), on);
    symlinkSync(
      '/etc/systemd/system/t@.service',
      join(host.root, UNITS, 'x.target.wants/t@one.service'),
    );
    expect(await drift(on)).toMatchObject({
      reason: 'unit t@.service is enabled, expected disabled',
    });

    await repair(on, 't@.service');

    expect(links()).toEqual(['x.target.wants/t@two.service']);
  });
});

it('a template is not enabled because another of its instances is', async () => {
  const to = config('new', { ...WITH_DEFAULT, enabled: true });
  await update(config('old'), to);
  const wants = join(host.root, UNITS, 'z.target.wants');
  mkdirSync(wants);
  symlinkSync('/etc/systemd/system/t@.service', join(wants, 't@two.service'));
  expect(await drift(to)).toBeUndefined();

  const { systemd, files } = await host.ports();
  await files.remove('/etc/systemd/system/x.target.wants/t@one.service');

  expect(await systemd.enablement('t@.service')).toBe('indirect');
  expect(await drift(to)).toMatchObject({
    reason: 'unit t@.service is indirect, expected enabled',
  });
});
