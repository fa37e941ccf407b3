/**
 * First configs from files, on the machine that installs a cluster, in MCO's layout:
 * `machine-pools/<pool>.yaml`, `machine-configs/<rendered>.yaml` and
 * `controller-config/machine-config-controller.yaml`.
 *
 * @see MCO pkg/server/bootstrap_server.go (7ff337a4)
 */

import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { z } from 'zod';
import { ControllerConfig, MachineConfigPool } from '../../adapters/api-schemas';
import { failureName, messageOf } from '../../core/errors';
import type { FirstBootFacts } from '../../core/first-boot';
import { BOOTSTRAP_POOLS, OBJECT_NAME } from '../../core/names';
import { controllerFacts } from './controller-facts';
import { readObject } from './manifests';
import { missing, type ConfigSource, type Look } from './source';

interface BootstrapSourceOptions {
  readonly directory: string;
  /** Kubeconfig and authorities of registries. */
  readonly facts: () => FirstBootFacts;
}

/** `stamp` changes with the text. */
interface ReadFile {
  readonly stamp: string;
  readonly text: string;
  object?: unknown;
}

/** Parsed once and not per machine. */
function objectOf<S extends z.ZodType>(schema: S, file: ReadFile, what: string): z.output<S> {
  file.object ??= readObject(schema, file.text, what);
  return file.object as z.output<S>;
}

/** Changed files are read again. */
export function createBootstrapSource({ directory, facts }: BootstrapSourceOptions): ConfigSource {
  const kept = new Map<string, ReadFile>();
  /** Requests of the same moment share a read. */
  const looking = new Map<string, Promise<Look>>();

  async function read(file: string): Promise<ReadFile | undefined> {
    try {
      const { dev, ino, size, mtimeNs, ctimeNs } = await stat(file, { bigint: true });
      // A copy may keep an old mtime (`rsync -t`, `cp -p`), but not the ctime.
      const stamp = [dev, ino, size, mtimeNs, ctimeNs].join('/');
      const known = kept.get(file);
      if (known?.stamp === stamp) return known;
      const entry = { stamp, text: await readFile(file, 'utf8') };
      kept.set(file, entry);
      return entry;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      kept.delete(file);
      return undefined;
    }
  }

  async function find(pool: string): Promise<Look> {
    try {
      return await findOut(pool);
    } catch (error) {
      const reason = failureName(error) === undefined ? 'not-ready' : 'no-rendered-config';
      return missing(500, reason, messageOf(error));
    } finally {
      looking.delete(pool);
    }
  }

  async function findOut(pool: string): Promise<Look> {
    const poolFile = join(directory, 'machine-pools', `${pool}.yaml`);
    const poolText = await read(poolFile);
    if (poolText === undefined) return missing(404, 'unknown-pool', `there is no ${poolFile}`);
    const { status } = objectOf(MachineConfigPool, poolText, poolFile);
    const name = status?.configuration?.name ?? '';
    if (!OBJECT_NAME.test(name)) {
      return missing(
        500,
        'no-rendered-config',
        `${poolFile}: status.configuration.name is missing`,
      );
    }
    const configFile = join(directory, 'machine-configs', `${name}.yaml`);
    const config = await read(configFile);
    if (config === undefined) {
      return missing(404, 'no-rendered-config', `there is no ${configFile}`);
    }
    const controllerFile = join(directory, 'controller-config', 'machine-config-controller.yaml');
    const controller = await read(controllerFile);
    const own = facts();
    return {
      served: {
        pool,
        name,
        key: JSON.stringify([name, config.stamp, controller?.stamp, own]),
        machineConfig: { manifest: config.text, what: configFile },
        facts: {
          ...own,
          ...(controller === undefined
            ? {}
            : controllerFacts(objectOf(ControllerConfig, controller, controllerFile))),
        },
      },
    };
  }

  return {
    async look(pool) {
      if (!BOOTSTRAP_POOLS.includes(pool)) {
        return missing(
          500,
          'unknown-pool',
          `pool ${pool} is not served while a cluster is installed`,
        );
      }
      const look = looking.get(pool) ?? find(pool);
      looking.set(pool, look);
      return look;
    },
    ageSeconds: () => 0,
  };
}
