/** A host whose process dies at any call of an order that follows a lost update. */

import { createHostActivities } from '../../../../activities/host/host-activities';
import type { HostOrder } from '../../../../workflows/host-contracts';
import { anOstreeHost, type OstreeHost } from '../../../unit/host/an-ostree-host';
import { bootIntoNew, LEFT, ON_NEW, ON_OLD, stateOf } from '../../../unit/host/lost-update';
import { orderFor, type TestConfig } from '../../../unit/host/a-host';
import { NEW, NEXT, OLD } from '../../../unit/host/os-configs';
import { dyingAt } from '../../../unit/host/dying-process';

let host: OstreeHost;
beforeEach(async () => {
  host = await anOstreeHost(OLD, [NEW, NEXT]);
});
afterEach(() => host.remove());

const later = (config: TestConfig, step: string): HostOrder => ({
  ...orderFor(config, step, { orderId: `update-node/worker-1/run-2/${step}` }),
  afterLost: true,
});

describe('an update that was lost after its reboot', () => {
  async function verified(): Promise<void> {
    const rebootedFrom = await bootIntoNew(host);
    await (
      await host.activities()
    ).verifyUpdate({ ...orderFor(NEW, 'verifyUpdate'), rebootedFrom });
  }

  it.each([
    ['verified', verified, ON_NEW, undefined],
    ['never verified', () => bootIntoNew(host), LEFT, true],
  ])(
    'and was %s is neither committed unproven nor put back half by a process that dies in it',
    async (_, lose, expected, unsettled) => {
      const order = {
        ...orderFor(OLD, 'prepareUpdate', { orderId: 'update-node/worker-1/run-2/prepareUpdate' }),
        currentConfig: NEW.reference,
      };
      const prepare = async (fs?: ReturnType<typeof dyingAt>['fs']) =>
        createHostActivities(await host.ports(fs)).prepareUpdate(order);
      const begin = async (): Promise<void> => {
        host.remove();
        host = await anOstreeHost(OLD, [NEW, NEXT]);
        await lose();
      };
      await begin();
      const whole = dyingAt(Number.POSITIVE_INFINITY);
      await prepare(whole.fs);
      for (let step = 1; step <= whole.steps(); step += 3) {
        await begin();
        await prepare(dyingAt(step).fs).catch(() => undefined);
        expect(await host.settle()).toEqual({});
        const prepared = await prepare();
        expect({ step, ...(await stateOf(host)) }).toEqual({ step, ...expected });
        expect(prepared.unsettled).toBe(unsettled);
      }
    },
    120_000,
  );
});

describe('an update that was taken over before its reboot, and is not gone on with', () => {
  async function takenOver(): Promise<void> {
    const activities = await host.activities();
    await activities.prepareUpdate(orderFor(NEW, 'prepareUpdate'));
    await activities.applyUpdate(orderFor(NEW, 'applyUpdate'));
    const order = { orderId: 'update-node/worker-1/run-2/prepareUpdate' };
    await activities.prepareUpdate(orderFor(NEW, 'prepareUpdate', order));
  }

  it.each([
    ['by the end of its update', 'discardStaged', NEW],
    ['by an update to another config', 'prepareUpdate', NEXT],
  ] as const)(
    'is never left half undone %s',
    async (_, order, config) => {
      const undo = async (fs?: ReturnType<typeof dyingAt>['fs']) =>
        createHostActivities(await host.ports(fs))[order](
          orderFor(config, order, { orderId: `update-node/worker-1/run-3/${order}` }),
        );
      const begin = async (): Promise<void> => {
        host.remove();
        host = await anOstreeHost(OLD, [NEW, NEXT]);
        await takenOver();
      };
      await begin();
      const whole = dyingAt(Number.POSITIVE_INFINITY);
      await undo(whole.fs);
      for (let step = 1; step <= whole.steps(); step += 2) {
        await begin();
        await undo(dyingAt(step).fs).catch(() => undefined);
        const next = orderFor(NEW, 'x', { orderId: 'update-node/worker-1/run-4/prepareUpdate' });
        await (await host.activities()).prepareUpdate(next);
        const { isOpen, motd } = await stateOf(host);
        expect({ step, isOpen, motd }).toEqual({ step, isOpen, motd: isOpen ? 'new' : 'old' });
      }
    },
    120_000,
  );
});

describe('an update that failed and was lost', () => {
  const FAILED = 'VerifyFailed: unit a.service has failed';
  /** What the node says. */
  const SAID = {
    name: 'EarlierUpdateFailed',
    message: `rendered-worker-new has failed on worker-1 in an update that was lost: ${FAILED}`,
  };

  /** It is back, and nobody has proven that. */
  async function backUnproven(): Promise<void> {
    await bootIntoNew(host);
    await (await host.activities()).goBack({ ...orderFor(NEW, 'goBack'), failed: FAILED });
    host.reboots.length = 0;
    await host.reboot();
    await host.settle();
  }

  it('is not forgotten by a process that dies on the way back, and does not come back to it', async () => {
    const goBack = async (fs?: ReturnType<typeof dyingAt>['fs']) =>
      createHostActivities({ ...(await host.ports(fs)), pause: async () => undefined }).goBack({
        ...orderFor(NEW, 'goBack'),
        failed: FAILED,
      });
    const begin = async (): Promise<void> => {
      host.remove();
      host = await anOstreeHost(OLD, [NEW]);
      await bootIntoNew(host);
    };
    await begin();
    const whole = dyingAt(Number.POSITIVE_INFINITY);
    await goBack(whole.fs);
    const ends = new Set<string>();
    for (let step = 1; step <= whole.steps(); step += 1) {
      await begin();
      await goBack(dyingAt(step).fs).catch(() => undefined);
      await host.settle();
      const activities = await host.activities();
      const apply = async () => {
        const { settled = '' } = await activities.prepareUpdate(later(NEW, 'prepareUpdate'));
        await activities.applyUpdate(later(NEW, 'applyUpdate'));
        // Nothing was taken back yet: it is verified once more, where it is.
        return settled;
      };
      ends.add(await apply().catch(({ message }: Error) => message));
    }
    expect([...ends].sort()).toEqual([SAID.message, 'took over the update to rendered-worker-new']);
  }, 120_000);

  it('is neither forgotten nor left half back by a process that dies in the next one', async () => {
    const prepare = async (fs?: ReturnType<typeof dyingAt>['fs']) =>
      createHostActivities({
        ...(await host.ports(fs)),
        pause: async () => undefined,
      }).prepareUpdate(later(NEW, 'prepareUpdate'));
    const begin = async (): Promise<void> => {
      host.remove();
      host = await anOstreeHost(OLD, [NEW]);
      await backUnproven();
    };
    await begin();
    const whole = dyingAt(Number.POSITIVE_INFINITY);
    await expect(prepare(whole.fs)).rejects.toMatchObject(SAID);
    for (let step = 1; step <= whole.steps(); step += 2) {
      await begin();
      await prepare(dyingAt(step).fs).catch(() => undefined);
      await host.settle();
      await expect(prepare()).rejects.toMatchObject(SAID);
      expect({ step, ...(await stateOf(host)) }).toEqual({ step, ...ON_OLD });
    }
  }, 120_000);
});
