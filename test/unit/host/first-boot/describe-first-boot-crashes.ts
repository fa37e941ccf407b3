/** A first boot in a process that dies. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { completeFirstBoot } from '../../../../host/first-boot/first-boot';
import { settleAtStart } from '../../../../host/settle/settle-at-start';
import { aCopyOfOstree, type OstreeHost } from '../an-ostree-host';
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
    let template: OstreeHost;
    const hosts: OstreeHost[] = [];
    beforeEach(async () => {
      template = await anInstalledHost([SERVED]);
      hosts.push(template);
      ignite(template, SERVED);
    });
    afterEach(() => {
      for (const host of hosts.splice(0)) host.remove();
    });

    async function begin(): Promise<OstreeHost> {
      const host = await aCopyOfOstree(template);
      hosts.push(host);
      return host;
    }

    it('boots once for what started on files that were put back, also when nobody did so at once', async () => {
      // An update removes it, so that there is something to restore.
      write(template.root, IGNITION_PRESETS, 'enable a.service');
      await completeFirstBoot(await template.ports());
      await template.powerCut();
      expect(existsSync(join(template.root, IGNITION_PRESETS))).toBe(false);

      const whole = dyingAt(Number.POSITIVE_INFINITY);
      const { reboot } = await settleAtStart(await (await begin()).ports(whole.fs));
      expect(reboot).toMatch(/start again/);
      // One more call than there are: it ends as it should, and nobody boots the machine.
      for (const step of deaths('the undo of a first boot', whole.steps() + 1)) {
        const host = await begin();
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
      /** Both boots in a process that may die; then as many as needed. */
      const live = async (
        host: OstreeHost,
        dying: ReturnType<typeof dyingAt>,
      ): Promise<boolean> => {
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
      const whole = dyingAt(Number.POSITIVE_INFINITY);
      expect(await live(await begin(), whole)).toBe(true);
      const steps = whole.steps();
      expect(steps).toBeGreaterThan(40);
      for (const step of deaths('a first boot', steps)) {
        const host = await begin();
        expect({ step, ended: await live(host, dyingAt(step)) }).toEqual({ step, ended: false });
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
