/** Logs of the kubelet, of containers and of pods. */

import type { FieldProblem } from '../../field-problem';
import { isRecord } from '../../is-record';
import { cleanPath } from '../../encoding/go-path';
import { quantityOf } from '../../encoding/quantity';
import { flagAt, listAt, textAt, valueAt } from '../../values-at';
import { type Facts, problemAt, shown } from './problem';
import { needsGate } from './rules-durations';

type Config = Facts['config'];

const FORMATS = ['text', 'json'];
const LARGEST_VERBOSITY = 2 ** 31 - 1;

/** @see k8s.io/component-base logs/api/v1/options.go (v0.36.3), Validate */
export function loggingProblems(facts: Facts): readonly FieldProblem[] {
  const format = textAt(facts.config, 'logging', 'format') ?? '';
  return [
    ...formatProblems(facts, format),
    ...moduleProblems(facts.config, format),
    ...['text', 'json'].flatMap((name) => outputProblems(facts, name)),
  ];
}

function formatProblems({ isEnabled }: Facts, format: string): readonly FieldProblem[] {
  const path = ['logging', 'format'];
  if (format === '' || format === 'text') return [];
  if (format !== 'json') {
    const problem = `is ${shown(format)}, which is unknown`;
    return [problemAt(path, problem, `write ${FORMATS.map(shown).join(' or ')}`)];
  }
  return isEnabled('LoggingBetaOptions') ? [] : [needsGate(path, 'LoggingBetaOptions')];
}

function moduleProblems(config: Config, format: string): readonly FieldProblem[] {
  const modules = listAt(config, 'logging', 'vmodule');
  const path = ['logging', 'vmodule'];
  const isText = format === '' || format === 'text';
  const wrongFormat = modules.length > 0 && !isText;
  return [
    ...(wrongFormat
      ? [problemAt(path, `needs logging.format "text", not ${shown(format)}`, 'remove one of both')]
      : []),
    ...modules.flatMap((entry, i) => (isRecord(entry) ? moduleProblem(entry, [...path, i]) : [])),
  ];
}

function moduleProblem(
  entry: Readonly<Record<string, unknown>>,
  path: readonly (string | number)[],
): readonly FieldProblem[] {
  const pattern = textAt(entry, 'filePattern') ?? '';
  const verbosity = entry['verbosity'] ?? 0;
  const isName = pattern !== '' && !/[=,]/.test(pattern);
  const isLevel =
    typeof verbosity !== 'number' ||
    (Number.isInteger(verbosity) && verbosity >= 0 && verbosity <= LARGEST_VERBOSITY);
  const name = `is ${shown(pattern)}, which is no pattern of file names`;
  const level = `is ${shown(verbosity)}, outside of 0 to ${LARGEST_VERBOSITY}`;
  return [
    ...(isName ? [] : [problemAt([...path, 'filePattern'], name, 'write one without "=" or ","')]),
    ...(isLevel ? [] : [problemAt([...path, 'verbosity'], level, 'write a number such as 4')]),
  ];
}

function outputProblems({ config, isEnabled }: Facts, name: string): readonly FieldProblem[] {
  const path = ['logging', 'options', name];
  const gate = 'LoggingAlphaOptions';
  const size = valueAt(config, ...path, 'infoBufferSize');
  const text = typeof size === 'number' ? String(size) : size;
  const quantity = typeof text === 'string' ? quantityOf(text.trim()) : { nanos: 0n };
  const isSplit = flagAt(config, ...path, 'splitStream') === true;
  const sizePath = [...path, 'infoBufferSize'];
  return [
    ...(isSplit && !isEnabled(gate) ? [needsGate([...path, 'splitStream'], gate)] : []),
    ...(quantity === undefined
      ? [problemAt(sizePath, `is ${shown(size)}, which is no quantity`, 'write one such as 64Ki')]
      : []),
    ...((quantity?.nanos ?? 0n) !== 0n && !isEnabled(gate) ? [needsGate(sizePath, gate)] : []),
  ];
}

/**
 * @see kubernetes pkg/kubelet/logs/container_log_manager.go (v1.36.3), parseMaxSize;
 *   pkg/kubelet/apis/config/validation, ValidateKubeletConfiguration
 */
export function logFileProblems({ config }: Facts): readonly FieldProblem[] {
  return [...maxSizeProblems(config), ...podLogsProblems(config)];
}

/** A negative size = logs are not rotated. */
function maxSizeProblems(config: Config): readonly FieldProblem[] {
  const size = textAt(config, 'containerLogMaxSize') ?? '';
  if (size === '' || quantityOf(size)?.whole !== undefined) return [];
  const problem = `is ${shown(size)}, which the kubelet cannot read as whole bytes`;
  return [problemAt(['containerLogMaxSize'], problem, 'write a quantity such as 10Mi')];
}

function podLogsProblems(config: Config): readonly FieldProblem[] {
  const folder = textAt(config, 'podLogsDir') ?? '';
  const found =
    folder === ''
      ? undefined
      : !folder.startsWith('/')
        ? 'not absolute'
        : cleanPath(folder) !== folder
          ? `not normalized (that would be ${shown(cleanPath(folder))})`
          : // eslint-disable-next-line no-control-regex -- control characters are ASCII, too
            !/^[\x00-\x7f]*$/.test(folder)
            ? 'not ASCII'
            : undefined;
  if (found === undefined) return [];
  const problem = `is ${shown(folder)}, which is ${found}`;
  return [problemAt(['podLogsDir'], problem, 'write a path such as /var/log/pods')];
}
