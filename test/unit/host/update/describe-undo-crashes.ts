/** A machine that undoes an update at its start, in a process that dies. */

import { settleAtStart } from '../../../../host/settle/settle-at-start';
import { orderFor } from '../a-host';
import { motdOf } from '../an-os-update';
import { anOstreeHost, type OstreeHost } from '../an-ostree-host';
import { type Deaths, dyingAt } from '../dying-process';
import { NEW, OLD, ON_OLD, orderUpTo, pictureOf } from './whole-update';

export function describeUndoCrashes(deaths: Deaths): void {
  describe('the rollback', () => {
    let host: OstreeHost;
    beforeEach(async () => {
      host = await anOstreeHost(OLD, [NEW]);
    });
    afterEach(() => host.remove());

    it.each([
      [
        'after a way back',
        async () => {
          await orderUpTo(host, 'armReboot');
          await host.reboot();
          await (await host.activities()).goBack(orderFor(NEW, 'goBack'));
          await host.reboot();
        },
      ],
      [
        'after a power cut',
        async () => {
          await orderUpTo(host, 'armReboot');
          await host.powerCut();
        },
      ],
      [
        'after a boot that fell back',
        async () => {
          await orderUpTo(host, 'armReboot');
          await host.boot({ broken: true });
        },
      ],
    ])(
      'boots once more %s, whatever was the last call of the program that undid',
      async (when, cut) => {
        const begin = async (): Promise<void> => {
          host.remove();
          host = await anOstreeHost(OLD, [NEW]);
          await cut();
          expect(motdOf(host)).toBe('new');
        };
        await begin();
        const whole = dyingAt(Number.POSITIVE_INFINITY);
        expect((await settleAtStart(await host.ports(whole.fs))).reboot).toMatch(/start again/);
        expect(whole.steps()).toBeGreaterThan(10);
        for (const step of deaths(`the undo ${when}`, whole.steps())) {
          await begin();
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
