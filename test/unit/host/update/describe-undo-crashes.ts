/** A machine that undoes an update at its start, in a process that dies. */

import { settleAtStart } from '../../../../host/settle/settle-at-start';
import { orderFor } from '../a-host';
import { motdOf } from '../an-os-update';
import { aCopyOfOstree, anOstreeHost, type OstreeHost } from '../an-ostree-host';
import { type Deaths, dyingAt } from '../dying-process';
import { NEW, OLD, ON_OLD, orderUpTo, pictureOf } from './whole-update';

export function describeUndoCrashes(deaths: Deaths): void {
  describe('the rollback', () => {
    let template: OstreeHost;
    const hosts: OstreeHost[] = [];
    beforeEach(async () => {
      template = await anOstreeHost(OLD, [NEW]);
      hosts.push(template);
      await orderUpTo(template, 'armReboot');
    });
    afterEach(() => {
      for (const host of hosts.splice(0)) host.remove();
    });

    async function begin(): Promise<OstreeHost> {
      const host = await aCopyOfOstree(template);
      hosts.push(host);
      return host;
    }

    it.each([
      [
        'after a way back',
        async () => {
          await template.reboot();
          await (await template.activities()).goBack(orderFor(NEW, 'goBack'));
          await template.reboot();
        },
      ],
      ['after a power cut', () => template.powerCut()],
      ['after a boot that fell back', () => template.boot({ broken: true })],
    ])(
      'boots once more %s, whatever was the last call of the program that undid',
      async (when, cut) => {
        await cut();
        expect(motdOf(template)).toBe('new');
        const whole = dyingAt(Number.POSITIVE_INFINITY);
        const { reboot } = await settleAtStart(await (await begin()).ports(whole.fs));
        expect(reboot).toMatch(/start again/);
        expect(whole.steps()).toBeGreaterThan(10);
        for (const step of deaths(`the undo ${when}`, whole.steps())) {
          const host = await begin();
          const dying = await host.ports(dyingAt(step).fs);
          // Best-effort steps do not fail; only the missing reboot counts.
          await settleAtStart(dying).catch(() => undefined);

          expect({ step, reboot: (await host.settleOnce()).reboot }).toEqual({
            step,
            reboot: expect.any(String) as string,
          });
          expect(await pictureOf(host)).toEqual(ON_OLD);
          // Another process of this boot knows it, too.
          expect((await host.settleOnce()).reboot).toBeDefined();
          await host.reboot();
          expect((await host.settleOnce()).reboot).toBeUndefined();
          expect(await pictureOf(host)).toEqual(ON_OLD);
        }
      },
    );
  });
}
