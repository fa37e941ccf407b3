export interface InstallSection {
  readonly wantedBy: readonly string[];
  readonly requiredBy: readonly string[];
  readonly upheldBy: readonly string[];
  readonly alias: readonly string[];
  /** Units that are enabled and disabled together with this one. */
  readonly also: readonly string[];
  /** The instance that enabling a template stands for. */
  readonly defaultInstance?: string;
}

/** The only keys of `[Install]` in which systemd removes quotes. */
const TAKES_QUOTES: ReadonlySet<string> = new Set(['WantedBy', 'RequiredBy', 'UpheldBy', 'Alias']);
const WORD = /^(?:"[^"]*"|'[^']*'|[^\s"'])+(?=\s|$)/;

/** Words without their quotes; as in systemd, text after an unclosed quote is no word. */
function unquoted(values: string): readonly string[] {
  const words: string[] = [];
  let rest = values;
  for (;;) {
    const word = WORD.exec(rest)?.[0];
    if (word === undefined) return words;
    words.push(word.replace(/"([^"]*)"|'([^']*)'/g, (quoted) => quoted.slice(1, -1)));
    rest = rest.slice(word.length).trimStart();
  }
}

/** An instance is the whole value: it has no blanks, and systemd refuses them. */
function wordsOf(key: string, values: string): readonly string[] {
  if (key === 'DefaultInstance') return [values];
  return TAKES_QUOTES.has(key) ? unquoted(values) : values.split(/\s+/);
}

/** Undefined when there is no `[Install]` (a static unit). */
export function parseInstallSection(contents: string): InstallSection | undefined {
  const lists = {
    WantedBy: [] as string[],
    RequiredBy: [] as string[],
    UpheldBy: [] as string[],
    Alias: [] as string[],
    Also: [] as string[],
    DefaultInstance: [] as string[],
  };
  const isListed = (key: string): key is keyof typeof lists => Object.hasOwn(lists, key);
  let inside = false;
  // A backslash at the end of a line continues it.
  for (const raw of contents.replace(/\\\r?\n/g, ' ').split('\n')) {
    const line = raw.trim();
    if (line.startsWith('[')) inside = line === '[Install]';
    const equals = line.indexOf('=');
    if (!inside || equals === -1 || line.startsWith('#') || line.startsWith(';')) continue;
    const key = line.slice(0, equals).trim();
    const values = line.slice(equals + 1).trim();
    if (!isListed(key)) continue;
    if (values === '') lists[key].splice(0);
    else lists[key].push(...wordsOf(key, values));
  }
  if (Object.values(lists).every((list) => list.length === 0)) return undefined;
  const defaultInstance = lists.DefaultInstance.at(-1);
  return {
    wantedBy: lists.WantedBy,
    requiredBy: lists.RequiredBy,
    upheldBy: lists.UpheldBy,
    alias: lists.Alias,
    also: lists.Also,
    ...(defaultInstance === undefined ? {} : { defaultInstance }),
  };
}
