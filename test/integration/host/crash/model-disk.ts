/**
 * A disk in memory that models power cuts: for every file and directory it has the present state, the state at its
 * last sync, and the state at its creation. Inodes are immutable, so a picture of the whole disk costs three maps.
 */

export type Attributes = Readonly<Record<string, string>>;

interface Owned {
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly attributes: Attributes;
}

type FileInode = Owned & { readonly kind: 'file'; readonly data: Buffer };
export type DirectoryInode = Owned & {
  readonly kind: 'directory';
  readonly entries: ReadonlyMap<string, number>;
};
type LinkInode = Owned & { readonly kind: 'symlink'; readonly target: string };
export type Inode = FileInode | DirectoryInode | LinkInode;

/** The disk at one moment, as programs see it and as it was last synced. */
export interface Picture {
  readonly now: ReadonlyMap<number, Inode>;
  readonly synced: ReadonlyMap<number, Inode>;
  /** As created: what remains of an inode that was never synced, if its name is there. */
  readonly made: ReadonlyMap<number, Inode>;
}

/**
 * The rest after the process, or the machine, died:
 * `all` – everything (a killed process, or a machine whose caches were written just before),
 * `synced` – only synced state,
 * `names` – every change of a directory, and of files only synced bytes,
 * `bytes` – the bytes of every file, and of directories only synced state,
 * a name – of all unsynced changes only that of this name, or all except it: no file system has to keep the order
 * of changes in a directory.
 */
export type Survival = 'all' | 'synced' | 'names' | 'bytes' | NameApart;

/** The unsynced change of one name in a directory. */
export interface NameApart {
  readonly directory: number;
  readonly name: string;
  readonly survives: 'alone' | 'not';
}

export const ROOT_INODE = 1;
const NOBODYS = { uid: 0, gid: 0, attributes: {} } as const;

/** A call that changes the disk, reported before it is made. */
export interface Operation {
  readonly kind: string;
  readonly path: string;
}

export class ModelDisk {
  readonly #now: Map<number, Inode>;
  readonly #synced: Map<number, Inode>;
  readonly #made: Map<number, Inode>;
  #next: number;
  /** Receives every change before it is made; an error that it throws is the error of the call. */
  onOperation: (operation: Operation) => void = () => undefined;

  constructor(picture?: Picture) {
    const empty: DirectoryInode = {
      kind: 'directory',
      mode: 0o755,
      entries: new Map(),
      ...NOBODYS,
    };
    this.#now = new Map(picture?.now ?? [[ROOT_INODE, empty]]);
    this.#synced = new Map(picture?.synced ?? [[ROOT_INODE, empty]]);
    this.#made = new Map(picture?.made);
    this.#next = Math.max(...this.#now.keys(), ...this.#synced.keys()) + 1;
  }

  picture(): Picture {
    return { now: new Map(this.#now), synced: new Map(this.#synced), made: new Map(this.#made) };
  }

  inode(number: number): Inode {
    const inode = this.#now.get(number);
    if (inode === undefined) throw new Error(`no inode ${number}`);
    return inode;
  }

  set(number: number, inode: Inode): void {
    this.#now.set(number, inode);
    // A link cannot be synced by itself: target and attributes are synced with its name.
    if (inode.kind === 'symlink') this.#synced.set(number, inode);
  }

  create(inode: Inode): number {
    const number = this.#next;
    this.#next += 1;
    this.#made.set(number, inode);
    this.set(number, inode);
    return number;
  }

  sync(number: number): void {
    this.#synced.set(number, this.inode(number));
  }

  /** A clean shutdown writes everything. */
  syncAll(): void {
    for (const [number, inode] of this.#now) this.#synced.set(number, inode);
  }
}

export function survivorsOf(picture: Picture, survival: Survival): Picture {
  const found = new Map<number, Inode>();
  const pending = [ROOT_INODE];
  for (let number = pending.pop(); number !== undefined; number = pending.pop()) {
    if (found.has(number)) continue;
    const inode = survivorOf(number, picture, survival);
    found.set(number, inode);
    if (inode.kind === 'directory') pending.push(...inode.entries.values());
  }
  return { now: found, synced: found, made: new Map() };
}

/** Each name with an unsynced change, in a directory with other unsynced changes. */
export function namesApart({ now, synced }: Picture): readonly NameApart[] {
  return [...now].flatMap(([directory, inode]) => {
    const before = synced.get(directory);
    if (inode.kind !== 'directory' || before?.kind !== 'directory' || inode === before) return [];
    const names = new Set([...inode.entries.keys(), ...before.entries.keys()]);
    const changed = [...names].filter(
      (name) => inode.entries.get(name) !== before.entries.get(name),
    );
    if (changed.length < 2) return [];
    return changed.flatMap((name) =>
      (['alone', 'not'] as const).map((survives) => ({ directory, name, survives })),
    );
  });
}

function withNameApart(now: Inode, synced: Inode, { name, survives }: NameApart): Inode {
  if (now.kind !== 'directory' || synced.kind !== 'directory') throw new Error('no directory');
  const [most, one] = survives === 'alone' ? [synced, now] : [now, synced];
  const entries = new Map(most.entries);
  const inode = one.entries.get(name);
  if (inode === undefined) entries.delete(name);
  else entries.set(name, inode);
  return { ...most, entries };
}

function survivorOf(number: number, picture: Picture, survival: Survival): Inode {
  const [now, synced] = [picture.now.get(number), picture.synced.get(number)];
  const known = now ?? synced;
  if (known === undefined) throw new Error('a name without an inode');
  if (typeof survival !== 'string') {
    if (survival.directory === number && now !== undefined && synced !== undefined) {
      return withNameApart(now, synced, survival);
    }
    return survivorOf(number, picture, survival.survives === 'alone' ? 'synced' : 'all');
  }
  const isDirectory = known.kind === 'directory';
  const survives = survival === 'all' || (survival === 'names') === isDirectory;
  if (survival !== 'synced' && survives) return known;
  // Its name was synced, the inode never: there, and empty, with mode and owner of its creation.
  return synced ?? picture.made.get(number) ?? known;
}

const serials = new WeakMap<Inode, number>();
let lastSerial = 0;

/** Equal for equal disks; inodes are immutable, so their numbers identify them. */
export function keyOf({ now }: Picture): string {
  return [...now]
    .map(([number, inode]) => {
      const serial = serials.get(inode) ?? (lastSerial += 1);
      serials.set(inode, serial);
      return `${number}:${serial}`;
    })
    .sort()
    .join(' ');
}
