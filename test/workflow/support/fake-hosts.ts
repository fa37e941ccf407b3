import { ApplicationFailure } from '@temporalio/common';
import type {
  HandedActivities,
  HostActivities,
  HostOrder,
} from '../../../workflows/contracts/host';
import type { FakeWorld } from './fake-world';

/** One machine: its config, what is half done, and its number of boots. */
export interface FakeHost {
  config: string | undefined;
  /** Written, but not committed. */
  applied: string | undefined;
  staged: string | undefined;
  rebooted: boolean;
  boots: number;
  /** Reboot armed; it takes place at the next call. */
  armed: boolean;
  /** Runs what a lost update left, which must not stay; only a reboot undoes it. */
  isLeft: boolean;
  /** UID of the pool that it obeys; absent = none yet. */
  pool?: string;
  /** How an update failed; its Node may not show it. */
  failed?: string;
  /** Paths that another program has written where only an update had something. */
  kept?: readonly string[];
}

export function aHost(config: string | undefined): FakeHost {
  return {
    config,
    applied: undefined,
    staged: undefined,
    rebooted: false,
    boots: 1,
    armed: false,
    isLeft: false,
  };
}

function joinPool(host: FakeHost, { pool, movedFrom }: HostOrder): void {
  const { pool: isInPool } = host;
  if (isInPool !== undefined && isInPool !== pool.uid && isInPool !== movedFrom) {
    throw ApplicationFailure.nonRetryable('not in this pool', 'OrderRefused', { isInPool });
  }
  host.pool = pool.uid;
}

/** Host activities on a world's machines, with the same promises as the real ones. No order is signed here. */
export function fakeHostActivities(world: FakeWorld): HandedActivities {
  const activities = Object.entries(activitiesOn(world)).map(([step, activity]) => {
    const obey = activity as (order: HostOrder) => Promise<unknown>;
    return [step, ({ order }: { readonly order: HostOrder }) => obey(order)];
  });
  return Object.fromEntries(activities) as HandedActivities;
}

function activitiesOn(world: FakeWorld): HostActivities {
  const bootId = (node: string): string => `${node}-boot-${world.host(node).boots}`;
  const step = async (name: string, order: HostOrder): Promise<FakeHost> => {
    await world.step(name, order.node);
    if (order.node === '' || Date.parse(order.notAfter) < Date.now()) {
      throw ApplicationFailure.nonRetryable('expired', 'OrderRefused');
    }
    return world.host(order.node);
  };
  const awaitBoot = (node: string, rebootedFrom: string | undefined): void => {
    const host = world.host(node);
    if (host.armed) {
      world.reboot(node);
      return;
    }
    if (rebootedFrom === bootId(node)) {
      throw ApplicationFailure.create({
        message: 'the machine has not rebooted',
        type: 'NotYetRebooted',
        nextRetryDelay: '20ms',
      });
    }
  };

  return {
    prepareUpdate: async (order) => {
      const host = await step('prepareUpdate', order);
      joinPool(host, order);
      if (order.afterLost !== true) delete host.failed;
      if (host.failed !== undefined) {
        throw ApplicationFailure.nonRetryable(`lost: ${host.failed}`, 'EarlierUpdateFailed');
      }
      // Like the real one: a complete and wanted state is taken over.
      const tookOver = host.applied === order.config.name && !host.rebooted && !host.armed;
      const did = tookOver ? 'took over' : 'undid';
      const settled = host.applied === undefined ? undefined : `${did} ${host.applied}`;
      if (!tookOver) host.applied = undefined;
      const alreadyOnTarget = host.config === order.config.name && !host.isLeft;
      host.staged = alreadyOnTarget ? undefined : order.config.name;
      return {
        bootId: bootId(order.node),
        ...(host.config === undefined ? {} : { currentConfig: host.config }),
        alreadyOnTarget,
        plan: world.planOf(),
        ...(settled === undefined ? {} : { settled }),
        ...(host.isLeft ? { unsettled: true } : {}),
        ...(tookOver ? { tookOver } : {}),
      };
    },
    applyUpdate: async (order) => {
      const host = world.host(order.node);
      world.expectMayDisturb(order.node, order.config.name);
      if (host.isLeft) {
        await step('applyUpdate', order);
        throw ApplicationFailure.nonRetryable('left on c0', 'EarlierUpdateLost');
      }
      host.applied = order.config.name;
      await step('applyUpdate', order);
      return { files: 1, units: 0 };
    },
    performServiceActions: async (order) => {
      await step('performServiceActions', order);
    },
    armReboot: async (order) => {
      const host = await step('armReboot', order);
      if (host.applied !== order.config.name) world.violate(`${order.node} rebooted unapplied`);
      host.armed = true;
      return { bootId: bootId(order.node) };
    },
    verifyUpdate: async (order) => {
      const host = await step('verifyUpdate', order);
      awaitBoot(order.node, order.rebootedFrom);
      const isCommitted = host.applied === undefined && host.config === order.config.name;
      if (host.applied !== order.config.name && !isCommitted) {
        throw ApplicationFailure.nonRetryable('another config is on the host', 'VerifyFailed');
      }
      world.verified(order.node, order.config.name);
      return { bootId: bootId(order.node) };
    },
    commitUpdate: async (order) => {
      const host = await step('commitUpdate', order);
      host.config = order.config.name;
      host.applied = undefined;
      host.staged = undefined;
      host.rebooted = false;
    },
    goBack: async (order) => {
      const host = await step('goBack', order);
      if (order.onlyAsks === true) {
        const committed = host.applied === undefined && host.config === order.config.name;
        return {
          rebooting: false,
          bootId: bootId(order.node),
          ...(committed ? { committed } : {}),
        };
      }
      const rebooting = host.rebooted || host.armed || host.isLeft;
      if (order.failed !== undefined) host.failed = order.failed;
      host.isLeft = false;
      host.applied = undefined;
      host.staged = undefined;
      host.armed = rebooting;
      return { rebooting, bootId: bootId(order.node) };
    },
    verifyBack: async (order) => {
      const host = await step('verifyBack', order);
      awaitBoot(order.node, order.rebootedFrom);
      host.rebooted = false;
      const kept = host.kept === undefined ? {} : { kept: host.kept };
      return { bootId: bootId(order.node), ...kept };
    },
    discardStaged: async (order) => {
      const host = await step('discardStaged', order);
      if (host.isLeft) return { unsettled: true };
      host.applied = undefined;
      host.staged = undefined;
      return host.config === undefined ? {} : { currentConfig: host.config };
    },
  };
}
