import { judged } from './judged';

const logging = (fields: object): object => ({ logging: fields });
const ALPHA = { featureGates: { LoggingAlphaOptions: true } };

judged([
  {
    about: 'an unknown format',
    refused: { ...logging({ format: 'JSON' }) },
    at: 'logging.format',
    says: 'is "JSON", which is unknown',
    fix: 'write "text" or "json"',
    accepted: { ...logging({ format: 'json' }) },
  },
  {
    about: 'JSON without its gate',
    refused: { ...logging({ format: 'json' }), featureGates: { LoggingBetaOptions: false } },
    at: 'logging.format',
    says: 'needs the feature gate LoggingBetaOptions, which is off',
    accepted: { ...logging({ format: 'text' }), featureGates: { LoggingBetaOptions: false } },
  },
  {
    about: 'verbosity of files with JSON',
    refused: { ...logging({ format: 'json', vmodule: [{ filePattern: 'a', verbosity: 1 }] }) },
    at: 'logging.vmodule',
    says: 'needs logging.format "text", not "json"',
    accepted: { ...logging({ format: 'json', vmodule: [] }) },
  },
  {
    about: 'a pattern of files with a comma',
    refused: { ...logging({ vmodule: [{ filePattern: 'a,b', verbosity: 1 }] }) },
    at: 'logging.vmodule.0.filePattern',
    says: 'is "a,b", which is no pattern of file names',
    accepted: { ...logging({ vmodule: [{ filePattern: 'a*', verbosity: 1 }] }) },
  },
  {
    about: 'no pattern of files',
    refused: { ...logging({ vmodule: [{ verbosity: 1 }] }) },
    at: 'logging.vmodule.0.filePattern',
    says: 'is "", which is no pattern of file names',
    accepted: { ...logging({ vmodule: [{ filePattern: 'a' }] }) },
  },
  {
    about: 'a verbosity above 31 bits',
    refused: { ...logging({ vmodule: [{ filePattern: 'a', verbosity: 2 ** 31 }] }) },
    at: 'logging.vmodule.0.verbosity',
    says: 'is 2147483648, outside of 0 to 2147483647',
    accepted: { ...logging({ vmodule: [{ filePattern: 'a', verbosity: 2 ** 31 - 1 }] }) },
  },
  ...['text', 'json'].flatMap((format) => [
    {
      about: `two streams of ${format} without their gate`,
      refused: { ...logging({ options: { [format]: { splitStream: true } } }) },
      at: `logging.options.${format}.splitStream`,
      says: 'needs the feature gate LoggingAlphaOptions, which is off',
      accepted: { ...logging({ options: { [format]: { splitStream: true } } }), ...ALPHA },
    },
    {
      about: `a buffer of ${format} without its gate`,
      refused: { ...logging({ options: { [format]: { infoBufferSize: '1' } } }) },
      at: `logging.options.${format}.infoBufferSize`,
      says: 'needs the feature gate LoggingAlphaOptions, which is off',
      accepted: { ...logging({ options: { [format]: { infoBufferSize: '0' } } }) },
    },
    {
      about: `a buffer of ${format} that is no quantity`,
      refused: { ...logging({ options: { [format]: { infoBufferSize: '64KB' } } }), ...ALPHA },
      at: `logging.options.${format}.infoBufferSize`,
      says: 'is "64KB", which is no quantity',
      accepted: { ...logging({ options: { [format]: { infoBufferSize: '64k' } } }), ...ALPHA },
    },
  ]),
  ...(
    [
      ['an unknown unit', '10MB', '10M'],
      ['parts of a byte', '1500m', '1500'],
      ['parts of a mebibyte', '1.5Mi', '1536Ki'],
      ['an amount that is large beyond reason', '100Ti', '1Ti'],
      ['a word', 'large', '-1'],
    ] as const
  ).map(([about, refused, accepted]) => ({
    about: `${about} as the size of a log`,
    refused: { containerLogMaxSize: refused },
    at: 'containerLogMaxSize',
    says: `is "${refused}", which the kubelet cannot read as whole bytes`,
    accepted: { containerLogMaxSize: accepted },
  })),
  ...(
    [
      ['a relative folder', 'var/log/pods', 'not absolute'],
      ['a slash at the end', '/var/log/', 'not normalized (that would be "/var/log")'],
      ['a way back', '/var/../log', 'not normalized (that would be "/log")'],
      ['a letter beyond ASCII', '/var/løg', 'not ASCII'],
    ] as const
  ).map(([about, refused, says]) => ({
    about: `${about} for logs of pods`,
    refused: { podLogsDir: refused },
    at: 'podLogsDir',
    says: `is "${refused}", which is ${says}`,
    accepted: { podLogsDir: '/var/log/pods' },
  })),
]);
