/** Its setting may also come from the environment. */
export interface ProcessFlag {
  /** `metricsPort` is `--metrics-port`. */
  readonly setting: string;
  readonly variable: string;
  readonly description?: string;
  readonly repeated?: boolean;
  readonly boolean?: boolean;
}

export interface ProcessCommand {
  readonly flags: readonly ProcessFlag[];
  /**
   * Until the signal aborts.
   *
   * @throws an error with `name` 'SettingsError' for invalid settings
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
