/** SHA-256 of rendered configs, which never change. */

import { createHash } from 'node:crypto';
import { canonicalConfig } from '../../core/machine-config/canonical';
import type { ConfigReference } from '../../workflows/contracts/host';
import type { ConfigReader } from './ports';

/** More than the pools and recent configs of a cluster; the least recently used is dropped. */
const KEPT = 200;

export class ConfigDigests {
  readonly #configs: ConfigReader;
  readonly #digests = new Map<string, Promise<string>>();

  constructor(configs: ConfigReader) {
    this.#configs = configs;
  }

  /** @throws `ObjectNotFound` */
  async reference(name: string): Promise<ConfigReference> {
    const known = this.#digests.get(name) ?? this.#read(name);
    this.#digests.delete(name);
    this.#digests.set(name, known);
    if (this.#digests.size > KEPT) {
      const [oldest] = this.#digests.keys();
      if (oldest !== undefined) this.#digests.delete(oldest);
    }
    try {
      return { name, digest: await known };
    } catch (error) {
      if (this.#digests.get(name) === known) this.#digests.delete(name);
      throw error;
    }
  }

  async #read(name: string): Promise<string> {
    const config = await this.#configs.read(name);
    return createHash('sha256').update(canonicalConfig(config), 'utf8').digest('hex');
  }
}
