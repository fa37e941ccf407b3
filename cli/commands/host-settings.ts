import { parseConfig } from '../../process/host/config-file';
import { unknownSettings } from '../../workers/host/flags';
import { cliError, EXIT } from '../exit-codes';
import { readInput, type ReadText } from './server-place';

const FLAG = '--host-settings';
/** One of each. */
const REQUIRED = [['gatewayAddress', 'temporalAddress'], ['serverUrl']];

/**
 * A `host.yaml` for new machines.
 *
 * @returns its text
 * @throws CliError that lists every problem by line or setting
 */
export async function readHostSettings(path: string, read: ReadText): Promise<string> {
  const text = await readInput(FLAG, path, read);
  const { values, problems } = parseConfig(text, path);
  const all = [
    ...problems,
    ...unknownSettings(values),
    ...REQUIRED.filter((names) => names.every((name) => (values[name] ?? '') === '')).map(
      (names) => `${names.join(' or ')}: is missing`,
    ),
    ...(values['temporalApiKey'] === undefined
      ? []
      : ['temporalApiKey: user data keeps no secret; name a file in temporalApiKeyFile']),
  ];
  if (all.length === 0) return text;
  throw cliError(EXIT.USAGE, `${FLAG} ${path}:\n  ${all.join('\n  ')}`);
}
