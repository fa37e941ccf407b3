/** What is shipped, with a bug in it: in the workflows, in what cluster workers run, or in the models. */

import { changedOnce, type Change } from './changed-once';
import { readableBundle } from './readable-bundle';
import { Sandbox } from './temporal/sandbox';
import { plantedCode } from './world/planted-code';
import type { ActivityPlants, Switches } from './world/plants';

export interface Bug {
  readonly bug: string;
  /** The invariant that it breaks first: a violation of another one has not found this bug. */
  readonly breaks: string;
  readonly change?: Change;
  /** Beside it, where one guard stands behind the other. */
  readonly andChange?: Change;
  readonly activities?: Switches;
}

/** What a world is made of. */
export interface Planted {
  readonly sandbox: Sandbox;
  readonly plants?: ActivityPlants;
}

export class Product {
  private loads = 0;

  private constructor(
    private readonly bundle: string,
    readonly sound: Planted,
  ) {}

  static async read(): Promise<Product> {
    const bundle = await readableBundle();
    return new Product(bundle, { sandbox: await Sandbox.load(bundle, '/sound.js') });
  }

  /** @throws an `Error` when a text is stale */
  async with(bug: Bug): Promise<Planted> {
    const { workflows, plants } = this.textsOf(bug);
    if (workflows === this.bundle) return { ...this.sound, plants };
    this.loads += 1;
    return { sandbox: await Sandbox.load(workflows, `/planted-${this.loads}.js`), plants };
  }

  /** Only the guard is gone that stands behind the bug; undefined = there is none. */
  async withoutGuard({ bug, breaks, andChange }: Bug): Promise<Planted | undefined> {
    return andChange === undefined ? undefined : this.with({ bug, breaks, change: andChange });
  }

  /** @throws an `Error` when a text is stale */
  textsOf({ bug, change, andChange, activities }: Bug) {
    const changes = [change, andChange].filter((one) => one !== undefined);
    const inFiles = changes.filter(({ file }) => file !== undefined);
    const inWorkflows = changes.filter(({ file }) => file === undefined);
    const code = inFiles.length === 0 ? {} : { code: plantedCode(inFiles, bug) };
    const plants: ActivityPlants = { ...activities, ...code };
    const workflows = inWorkflows.reduce((text, one) => changedOnce(text, one, bug), this.bundle);
    return { workflows, plants };
  }
}
