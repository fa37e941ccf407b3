/** A process of Slipway, as the command line sees it. */

/** A flag of a process; its setting may also come from the environment. */
export interface ProcessFlag {
  /** Name of the setting: `metricsPort` is `--metrics-port`. */
  readonly setting: string;
  readonly variable: string;
  readonly description?: string;
  readonly repeated?: boolean;
  readonly boolean?: boolean;
}

export interface ProcessCommand {
  readonly flags: readonly ProcessFlag[];
  /**
   * Runs until the signal aborts.
   *
   * @throws an error with `name` 'SettingsError' for unusable settings
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
