/** A journal that another OS driver has begun is left alone by every kind of undo. */

import { createHostActivities } from '../../../../activities/host/host-activities';
import { unconfirmedAfterReboot, goBackAlone } from '../../../../host/confirm/unconfirmed';
import { settleAtStart } from '../../../../host/settle/settle-at-start';
import type { HostPorts } from '../../../../host/ports';
import { aHost, bootInto, orderFor, type TestHost } from '../a-host';
import { motdOf, NEW, OLD } from '../an-os-update';

let host: TestHost;
const motd = () => motdOf(host);

beforeEach(async () => {
  host = await aHost([OLD, NEW]);
  await bootInto(host, OLD);
  const activities = await host.activities();
  await activities.prepareUpdate(orderFor(NEW, 'prepareUpdate'));
  await activities.applyUpdate(orderFor(NEW, 'applyUpdate'));
});
afterEach(() => host.remove());

/** The same machine after the driver in its settings was changed. */
async function renamed(): Promise<{ readonly ports: HostPorts; readonly called: string[] }> {
  const ports = await host.ports();
  const called: string[] = [];
  const noting = (name: string) => async () => void called.push(name);
  const os: HostPorts['os'] = {
    ...ports.os,
    name: 'bootc',
    finalize: noting('finalize'),
    discard: noting('discard'),
    rollback: noting('rollback'),
    cleanUp: noting('cleanUp'),
  };
  return { ports: { ...ports, os }, called };
}

describe('a journal of another OS driver', () => {
  it('says in its header which one it is of', async () => {
    const journal = await (await host.ports()).journal.open();
    expect(journal?.header.driver).toBe('simulated');
  });

  const at = (step: string) => orderFor(NEW, `${step}-again`);
  it.each<[string, (ports: HostPorts) => Promise<unknown>]>([
    ['a start', (ports) => settleAtStart(ports)],
    ['the look for what is to be confirmed', (ports) => unconfirmedAfterReboot(ports)],
    ['a way back without orders', (ports) => goBackAlone(ports, 'nobody was reached')],
    ['an order to go back', (ports) => createHostActivities(ports).goBack(at('goBack'))],
    ['the proof of that', (ports) => createHostActivities(ports).verifyBack(at('verifyBack'))],
    ['the next update', (ports) => createHostActivities(ports).prepareUpdate(at('prepareUpdate'))],
    ['an order to apply', (ports) => createHostActivities(ports).applyUpdate(at('applyUpdate'))],
    ['an order to reboot', (ports) => createHostActivities(ports).armReboot(at('armReboot'))],
    ['an order to verify', (ports) => createHostActivities(ports).verifyUpdate(at('verifyUpdate'))],
    ['an order to commit', (ports) => createHostActivities(ports).commitUpdate(at('commitUpdate'))],
  ])('is refused by %s, which changes nothing', async (_, work) => {
    const { ports, called } = await renamed();

    await expect(work(ports)).rejects.toMatchObject({
      name: 'RollbackFailed',
      message: expect.stringMatching(
        /"simulated".*"bootc" now.*set driver: simulated in/,
      ) as string,
    });

    expect(called).toEqual([]);
    expect(motd()).toBe('new');
    const journal = await ports.journal.open();
    expect(journal?.marks().map(({ kind }) => kind)).toEqual(['applied']);
  });

  it('is used again when the driver is the one that it names', async () => {
    const { ports } = await renamed();
    await expect(settleAtStart(ports)).rejects.toThrow('driver');

    await (await host.activities()).goBack(orderFor(NEW, 'goBack'));

    expect(motd()).toBe('old');
  });
});
