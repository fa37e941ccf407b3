/** What a process of Slipway looks like to the command line. */

/** One flag of a process; its setting may also come from the environment. */
export interface ProcessFlag {
  /** Name of the setting: `metricsPort` is `--metrics-port`. */
  readonly setting: string;
  readonly variable: string;
  readonly description?: string;
  /** May be given several times. */
  readonly repeated?: boolean;
  /** Takes no value. */
  readonly boolean?: boolean;
}

/** A process, loaded. */
export interface ProcessCommand {
  readonly flags: readonly ProcessFlag[];
  /**
   * Runs until the signal aborts.
   *
   * @throws an error with `name` 'SettingsError' when the settings cannot be used
   */
  run(
    flags: Readonly<Record<string, unknown>>,
    environment: Readonly<Record<string, string | undefined>>,
    signal: AbortSignal,
  ): Promise<void>;
}

export interface ProcessEntry {
  readonly name: string;
  readonly description: string;
  load(): Promise<ProcessCommand>;
}
