/**
 * Keeps the key of orders: the cluster workers alone can read it. The first of them makes it, a person has it rolled with
 * an annotation, and its public part is published. Writes are conditional, so it does not matter which worker is faster.
 */

import { unlessGone } from '../../../activities/cluster/known-node';
import { WatchCache } from '../../../adapters/kube/cache';
import type { KubeClient } from '../../../adapters/kube/client';
import { CONFIG_MAPS, SECRETS, type Secret } from '../../../adapters/kube/resources';
import { messageOf } from '../../../core/errors';
import {
  ANNOTATION,
  FIELD_MANAGER,
  LABEL,
  ORDER_KEY_SECRET,
  ORDER_KEYS_CONFIG_MAP,
} from '../../../core/names';
import type { Logger } from '../../../process/logging';
import { untilAvailable } from '../../../process/until-available';
import { firstOrderKey, OrderSigningKey, type StoredOrderKey } from './stored-key';

const OWN_LABELS = {
  [LABEL.MANAGED_BY]: FIELD_MANAGER.CLUSTER_WORKER,
  'app.kubernetes.io/part-of': 'slipway',
} as const;
const WRITER = { fieldManager: FIELD_MANAGER.CLUSTER_WORKER };

interface KeeperPorts {
  readonly kube: KubeClient;
  readonly namespace: string;
  readonly log: Logger;
  readonly now?: () => Date;
}

export class OrderKeyKeeper {
  readonly #ports: KeeperPorts;
  readonly #cache: WatchCache<Secret>;
  readonly #secret: { readonly namespace: string; readonly name: string };
  #key: OrderSigningKey | undefined;
  #keeping: Promise<void> = Promise.resolve();

  constructor(ports: KeeperPorts) {
    const { namespace, log } = ports;
    this.#ports = ports;
    this.#secret = { namespace, name: ORDER_KEY_SECRET };
    const fieldSelector = `metadata.name=${ORDER_KEY_SECRET}`;
    this.#cache = new WatchCache({ resource: SECRETS, namespace, fieldSelector, log });
  }

  /** For people: what a worker waits for. */
  get text(): string {
    return `secret ${this.#secret.namespace}/${this.#secret.name}, the key of orders`;
  }

  /** @throws an Error before `keep` has ended once */
  get key(): OrderSigningKey {
    if (this.#key === undefined) throw new Error(`bug: ${this.text} is not there yet`);
    return this.#key;
  }

  /** Until the key is there, and then in the background until the signal aborts. @returns when the latter has ended */
  async start(signal: AbortSignal): Promise<{ readonly ended: Promise<void> }> {
    await this.#keepUntilDone(signal);
    this.#cache.subscribe(() => {
      // It fails only when the signal aborts.
      this.#keeping = this.#keeping.then(() => this.#keepUntilDone(signal)).catch(() => undefined);
    });
    const watching = this.#cache.run(this.#ports.kube, signal);
    return { ended: watching.then(() => this.#keeping) };
  }

  async #keepUntilDone(signal: AbortSignal): Promise<void> {
    await untilAvailable(this.text, () => this.keep(), { log: this.#ports.log, signal });
  }

  /** Once. Safe to repeat, and beside other workers. */
  async keep(): Promise<void> {
    const { kube, log, now = () => new Date() } = this.#ports;
    const secret =
      (await unlessGone(() => kube.get(SECRETS, this.#secret))) ?? (await this.#create());
    let key = this.#read(secret);
    if (isOurs(secret) && secret.metadata.annotations?.[ANNOTATION.RENEW] !== undefined) {
      const stored = key.next(now());
      await this.#roll(secret, stored);
      const before = key.id;
      key = new OrderSigningKey(stored);
      log.info({ before, key: key.id }, 'key of orders rolled');
    }
    if (this.#key !== undefined && this.#key.id !== key.id) {
      log.info({ key: key.id }, 'orders are signed with another key');
    }
    this.#key = key;
    await this.#publish(key);
  }

  #read(secret: Secret): OrderSigningKey {
    const texts = Object.fromEntries(
      Object.entries(secret.data ?? {}).map(([field, value]) => [
        field,
        Buffer.from(value, 'base64').toString(),
      ]),
    );
    try {
      return new OrderSigningKey({ 'key.pem': '', ...texts } satisfies StoredOrderKey);
    } catch (error) {
      throw new Error(`${this.text}: ${messageOf(error)}; correct or delete it`, { cause: error });
    }
  }

  async #create(): Promise<Secret> {
    const { kube, log } = this.#ports;
    const first = firstOrderKey();
    const key = new OrderSigningKey(first);
    const stored = { ...first, ...key.published };
    const secret = await kube.create(
      SECRETS,
      { metadata: { ...this.#secret, labels: OWN_LABELS }, type: 'Opaque', data: asData(stored) },
      WRITER,
    );
    log.info({ key: key.id }, 'made the key of orders: machines need it (docs/security.md)');
    return secret;
  }

  async #roll({ metadata: { resourceVersion } }: Secret, stored: StoredOrderKey): Promise<void> {
    const metadata = { resourceVersion, annotations: { [ANNOTATION.RENEW]: null } };
    await this.#ports.kube.patch(SECRETS, this.#secret, { metadata, data: asData(stored) }, WRITER);
  }

  async #publish(key: OrderSigningKey): Promise<void> {
    const { kube } = this.#ports;
    const { namespace } = this.#secret;
    const place = { namespace, name: ORDER_KEYS_CONFIG_MAP };
    const data = key.published;
    const known = await unlessGone(() => kube.get(CONFIG_MAPS, place));
    if (known === undefined) {
      await kube.create(CONFIG_MAPS, { metadata: { ...place, labels: OWN_LABELS }, data }, WRITER);
      return;
    }
    const isSame = Object.entries(data).every(([field, text]) => known.data?.[field] === text);
    if (isSame) return;
    const { resourceVersion } = known.metadata;
    await kube.patch(CONFIG_MAPS, place, { metadata: { resourceVersion }, data }, WRITER);
  }
}

/** All others are of a person, who rolls them. */
function isOurs({ metadata }: Secret): boolean {
  return metadata.labels?.[LABEL.MANAGED_BY] === FIELD_MANAGER.CLUSTER_WORKER;
}

function asData(texts: object): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(texts).map(([field, text]) => [
      field,
      Buffer.from(String(text)).toString('base64'),
    ]),
  );
}
