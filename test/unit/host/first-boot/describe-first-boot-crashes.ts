/** A first boot in a process that dies. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { completeFirstBoot } from '../../../../host/first-boot/first-boot';
import { settleAtStart } from '../../../../host/settle/settle-at-start';
import type { OstreeHost } from '../an-ostree-host';
import { type Deaths, dyingAt } from '../dying-process';
import {
  anInstalledHost,
  bootUntilComplete,
  expectComplete,
  ignite,
  SERVED,
  SERVED_IMAGE,
  write,
} from './ignited-host';

const IGNITION_PRESETS = '/etc/systemd/system-preset/20-ignition.preset';

export function describeFirstBootCrashes(deaths: Deaths): void {
  describe('a first boot', () => {
    let host: OstreeHost;
    beforeEach(async () => {
      host = await anInstalledHost([SERVED]);
    });
    afterEach(() => host.remove());

    it('boots once for what started on files that were put back, also when nobody did so at once', async () => {
      const begin = async (): Promise<void> => {
        host.remove();
        host = await anInstalledHost([SERVED]);
        ignite(host, SERVED);
        // An update removes it, so that there is something to restore.
        write(host.root, IGNITION_PRESETS, 'enable a.service');
        await completeFirstBoot(await host.ports());
        await host.powerCut();
        expect(existsSync(join(host.root, IGNITION_PRESETS))).toBe(false);
      };
      await begin();
      const whole = dyingAt(Number.POSITIVE_INFINITY);
      expect((await settleAtStart(await host.ports(whole.fs))).reboot).toMatch(/start again/);
      // One more call than there are: it ends as it should, and nobody boots the machine.
      for (const step of deaths('the undo of a first boot', whole.steps() + 1)) {
        await begin();
        await settleAtStart(await host.ports(dyingAt(step).fs)).catch(() => undefined);
        let counted = 0;
        const first = async () =>
          completeFirstBoot(await host.ports(), async () => void (counted += 1));

        expect({ step, ...(await first()), counted }).toEqual({
          step,
          kind: 'reboot',
          config: SERVED.reference.name,
          counted: 0,
        });
        await host.reboot();
        expect(await first()).toMatchObject({ kind: 'reboot' });
        expect(counted).toBe(1);
        await host.reboot();
        expect(await first()).toMatchObject({ kind: 'complete' });
        await expectComplete(host, SERVED);
      }
    });

    it('is complete whatever call was the last one before the process died', async () => {
      const begin = async (): Promise<void> => {
        host.remove();
        host = await anInstalledHost([SERVED]);
        ignite(host, SERVED);
      };
      /** Both boots in a process that may die; then as many as needed. */
      const live = async (dying: ReturnType<typeof dyingAt>): Promise<boolean> => {
        try {
          const first = await completeFirstBoot(await host.ports(dying.fs));
          if (first.kind === 'reboot') await host.reboot();
          await settleAtStart(await host.ports(dying.fs));
          await completeFirstBoot(await host.ports(dying.fs));
          return true;
        } catch {
          return false;
        }
      };
      await begin();
      const whole = dyingAt(Number.POSITIVE_INFINITY);
      expect(await live(whole)).toBe(true);
      const steps = whole.steps();
      expect(steps).toBeGreaterThan(40);
      for (const step of deaths('a first boot', steps)) {
        await begin();
        expect({ step, ended: await live(dyingAt(step)) }).toEqual({ step, ended: false });
        await bootUntilComplete(host);
        expect({ step, image: (await host.status()).booted.image }).toEqual({
          step,
          image: SERVED_IMAGE,
        });
        await expectComplete(host, SERVED);
      }
    });
  });
}
