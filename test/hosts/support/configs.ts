import { type ConfigParts, machineConfig } from '../../e2e/support/configs';

export { plainFile } from '../../e2e/support/configs';

export interface HostConfigParts extends ConfigParts {
  readonly osImageURL?: string;
  readonly extensions?: readonly string[];
}

export function hostConfig(name: string, parts: HostConfigParts) {
  const { osImageURL, extensions, ...rest } = parts;
  const object = machineConfig(name, rest);
  return {
    ...object,
    spec: {
      ...object.spec,
      ...(osImageURL === undefined ? {} : { osImageURL }),
      ...(extensions === undefined ? {} : { extensions }),
    },
  };
}

export function service(name: string, command: string) {
  return {
    name,
    enabled: true,
    contents: `[Unit]\nDescription=${name}\n\n[Service]\nExecStart=${command}\n\n[Install]\nWantedBy=multi-user.target\n`,
  };
}
