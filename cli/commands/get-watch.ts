/** The whole list, then each row that changes, as kubectl does. */

import { messageOf } from '../../core/errors';
import { EXIT, type ExitCode } from '../exit-codes';
import type { WatchOptions } from '../options';
import { type Listing, type OutputFormat, printData } from '../output';
import { isPassing } from '../await-answer';
import type { CliContext, ClusterView } from '../ports';
import { formatRows, newsOf, widthsOf } from '../table';
import type { Terminal } from '../terminal';

export interface KeyedListing<Row> extends Listing<Row> {
  key(row: Row): string;
}

/** A watch without events may be dead. */
const PROBE_MS = 5_000;

/**
 * Until Ctrl-C or the timeout. Waits for an absent API server.
 *
 * @throws errors that waiting does not fix, and an unreachable API server at the start
 */
export async function followListing<Row>(
  context: CliContext,
  listingOf: (view: ClusterView) => KeyedListing<Row>,
  options: WatchOptions,
): Promise<ExitCode> {
  const { terminal } = context;
  const cluster = await context.cluster();
  const changes = new ChangeWriter<Row>(terminal, options.output);
  changes.show(listingOf(await cluster.read()));
  const failed = new AbortController();
  const { timeoutSeconds } = options;
  const signal = AbortSignal.any([
    ...[context.signal, failed.signal],
    ...(timeoutSeconds === undefined ? [] : [AbortSignal.timeout(timeoutSeconds * 1000)]),
  ]);
  const onChange = (view: ClusterView): void => {
    try {
      changes.show(listingOf(view));
    } catch (error) {
      failed.abort(error);
    }
  };
  const contact = new Contact(terminal);
  const probe = setInterval(() => {
    cluster.poolNames().then(
      () => contact.heard(),
      (error: unknown) => {
        if (isPassing(error)) contact.lost(messageOf(error));
        else failed.abort(error);
      },
    );
  }, PROBE_MS);
  try {
    if (!signal.aborted) await cluster.follow(onChange, signal);
  } finally {
    clearInterval(probe);
  }
  failed.signal.throwIfAborted();
  return EXIT.OK;
}

/** Rows that are gone are named on standard error. */
class ChangeWriter<Row> {
  readonly #terminal: Terminal;
  readonly #output: OutputFormat;
  readonly #known = new Map<string, string>();
  #widths: readonly number[] | undefined;
  #isEmptySaid = false;

  constructor(terminal: Terminal, output: OutputFormat) {
    this.#terminal = terminal;
    this.#output = output;
  }

  show(listing: KeyedListing<Row>): void {
    const keys = new Set(listing.rows.map((row) => listing.key(row)));
    const changed = listing.rows.filter((row) => this.#isNews(listing, row));
    if (changed.length > 0) this.#write(listing, changed);
    else if (this.#known.size === 0 && !this.#isEmptySaid) {
      this.#isEmptySaid = true;
      this.#terminal.err.write(`${listing.empty}\n`);
    }
    for (const key of this.#known.keys()) {
      if (keys.has(key)) continue;
      this.#known.delete(key);
      this.#terminal.err.write(`${key} is gone\n`);
    }
  }

  #isNews(listing: KeyedListing<Row>, row: Row): boolean {
    const says = this.#isData
      ? JSON.stringify(listing.data(row))
      : newsOf(listing.columns, row, { wide: this.#isWide });
    const key = listing.key(row);
    if (this.#known.get(key) === says) return false;
    this.#known.set(key, says);
    return true;
  }

  get #isData(): boolean {
    return this.#output === 'json' || this.#output === 'yaml';
  }

  get #isWide(): boolean {
    return this.#output === 'wide';
  }

  #write(listing: KeyedListing<Row>, rows: readonly Row[]): void {
    if (this.#output === 'json' || this.#output === 'yaml') {
      for (const row of rows) {
        if (this.#output === 'yaml') this.#terminal.out.write('---\n');
        printData(listing.data(row), this.#output, this.#terminal);
      }
      return;
    }
    const { columns } = listing;
    const wide = this.#isWide;
    const header = this.#widths === undefined;
    this.#widths ??= widthsOf(columns, rows, { wide });
    const shape = { wide, widths: this.#widths, header };
    for (const line of formatRows(columns, rows, shape)) this.#terminal.out.write(`${line}\n`);
    if (header && listing.note !== undefined) this.#terminal.err.write(`${listing.note}\n`);
  }
}

/** Reports an absence of the API server, and its end, once each. */
class Contact {
  readonly #terminal: Terminal;
  #isLost = false;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  lost(reason: string): void {
    if (!this.#isLost) this.#terminal.err.write(`trying again: ${reason}\n`);
    this.#isLost = true;
  }

  heard(): void {
    if (this.#isLost) this.#terminal.err.write('the API server answers again\n');
    this.#isLost = false;
  }
}
