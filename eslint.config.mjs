// Type-aware rules for all code, and import rules per folder.
import js from '@eslint/js';
import tseslint from 'typescript-eslint';

/** Node built-ins, with and without the `node:` prefix. */
const NODE_BUILTINS = {
  regex:
    '^(node:.*|fs|path|os|crypto|child_process|http|https|net|tls|url|util|stream|events|zlib|process|buffer|timers|worker_threads)(/.*)?$',
  message: 'No Node built-ins here: effects belong in activities/ or adapters/.',
};

/** The parts of Node that core/ may use only compute, and touch nothing outside. */
const PURE_NODE = [
  {
    regex: '^node:(?!(buffer|crypto|util)$)',
    message: 'core/ takes only what computes from Node.',
  },
  {
    regex: '^node:crypto$',
    allowImportNames: ['createHash', 'createPublicKey', 'verify', 'X509Certificate'],
    message: 'core/ has no randomness and no private keys: take them as an argument.',
  },
];

/** Globals of a process, which core/ must not use. */
const EFFECTS = [
  ...['process', 'console', 'fetch', 'performance', 'crypto', 'require'],
  ...['setTimeout', 'setInterval', 'setImmediate', 'queueMicrotask', 'globalThis'],
].map((name) => ({ name, message: 'core/ has no effects: take what you need as an argument.' }));

/** Forbids imports in one folder; each pattern's message says where the thing belongs. */
function layer(files, patterns, extra = {}) {
  return {
    files,
    rules: { '@typescript-eslint/no-restricted-imports': ['error', { patterns }], ...extra },
  };
}

const folder = (name, message) => ({ regex: `^(\\.\\./)+${name}(/|$)`, message });

const ACTIVITIES = [
  {
    regex: '^@kubernetes/',
    message:
      'Activities see ports (activities/cluster/ports.ts); the Kubernetes client lives in adapters/kube/.',
  },
  {
    regex: '^@temporalio/(worker|client)',
    message: 'Workers and clients are made in workers/.',
  },
  {
    regex: '^pino',
    message: 'Activities log through @temporalio/activity; pino is set up in process/logging.ts.',
  },
  folder(
    '(process|workers|cli|controllers|server|tools)',
    'Composition roots import activities/, not the other way.',
  ),
];

const ADAPTERS = [
  { regex: '^@temporalio/', message: 'Adapters know core/ and their own client library only.' },
  folder(
    '(workflows|activities|process|workers|cli|controllers|server|tools)',
    'Adapters know core/ and their own client library only.',
  ),
];

/** For the code that decides and acts on a machine. */
const MACHINE = [
  {
    regex: '^@temporalio/',
    message: 'host/ knows no Temporal: activities/host and workers/host do.',
  },
  { regex: '^pino', message: 'host/ logs through host/log.ts.' },
  folder(
    '(activities|process|workers|cli|controllers|server|tools)',
    'activities/host and workers/host run what is in host/, not the other way.',
  ),
];

const PROCESS = [
  folder(
    '(host|activities|adapters|workers|cli|controllers|server|tools)',
    'The shell of a process is the same whatever runs in it: what runs takes the shell.',
  ),
];

/** For the code that runs on every machine. */
const HOST = [
  { regex: '^@kubernetes/', message: 'The host worker holds no Kubernetes client.' },
  { regex: '^zod$', message: 'zod costs the host worker memory: parse by hand here.' },
  folder('adapters/kube', 'The host worker holds no Kubernetes client.'),
];

export default tseslint.config(
  {
    // types/sandbox/ belongs to tsconfig.sandbox.json alone.
    ignores: [
      'dist/',
      'node_modules/',
      'coverage/',
      '.slipway/',
      'test/fixtures/',
      'types/sandbox/',
    ],
  },
  js.configs.recommended,
  ...tseslint.configs.recommendedTypeChecked,
  {
    languageOptions: {
      parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname },
    },
    rules: {
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/unbound-method': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_' }],
      '@typescript-eslint/no-empty-object-type': [
        'error',
        { allowInterfaces: 'with-single-extends' },
      ],
      // Domain errors are Error objects with a catalogue name (core/errors.ts).
      '@typescript-eslint/only-throw-error': 'error',
      'no-empty': ['error', { allowEmptyCatch: false }],
      eqeqeq: ['error', 'always', { null: 'ignore' }],
    },
  },
  { files: ['**/*.mjs', '**/*.cjs', '**/*.js', 'bin/*'], ...tseslint.configs.disableTypeChecked },
  {
    files: ['**/*.mjs', '**/*.cjs', '**/*.js', 'bin/*'],
    languageOptions: {
      globals: Object.fromEntries(
        [
          'process',
          'console',
          'require',
          'module',
          '__dirname',
          'Buffer',
          'URL',
          'setTimeout',
          'setInterval',
          'clearInterval',
          'clearTimeout',
        ].map((name) => [name, 'readonly']),
      ),
    },
    rules: { '@typescript-eslint/no-require-imports': 'off' },
  },
  layer(
    ['core/**/*.ts'],
    [
      ...PURE_NODE,
      {
        regex: '^(?!\\.|node:)',
        message: 'core/ imports nothing from npm: take what you need as an argument.',
      },
      {
        regex:
          '^(\\.\\./)+(workflows|host|activities|adapters|process|controllers|server|workers|cli|tools|test)(/|$)',
        message: 'core/ imports nothing outside itself: the others import it.',
      },
    ],
    {
      'no-restricted-globals': ['error', ...EFFECTS],
      'no-restricted-syntax': [
        'error',
        {
          selector: "CallExpression[callee.object.name='Date'][callee.property.name='now']",
          message: 'core/ has no clock: take `now` as an argument.',
        },
        {
          selector: "NewExpression[callee.name='Date'][arguments.length=0]",
          message: 'core/ has no clock: take `now` as an argument.',
        },
        {
          selector: "CallExpression[callee.object.name='Math'][callee.property.name='random']",
          message: 'core/ has no randomness: take it as an argument.',
        },
        {
          selector: "CallExpression[callee.property.name='localeCompare']",
          message: 'Order by code unit (`<`): the locale of a host must not change a decision.',
        },
      ],
    },
  ),
  layer(
    ['workflows/**/*.ts'],
    [
      NODE_BUILTINS,
      {
        regex: '^(?!\\.|@temporalio/(workflow|common)(/|$))',
        message: 'Workflows run in the sandbox: validate at the edges, act in activities/.',
      },
      {
        regex:
          '^(\\.\\./)+(host|activities|adapters|process|controllers|server|workers|cli|tools)(/|$)',
        message: 'workflows/ declares contracts (workflows/contracts/); the others satisfy them.',
      },
    ],
  ),
  layer(['activities/**/*.ts'], ACTIVITIES),
  layer(['adapters/**/*.ts'], ADAPTERS),
  layer(
    ['server/**/*.ts'],
    [
      folder(
        '(workflows|host|activities|workers|cli|controllers|tools)',
        'The server decides nothing: it serves what core/ and adapters/ give it.',
      ),
    ],
  ),
  layer(
    ['controllers/**/*.ts'],
    [
      folder(
        '(host|activities|workers|cli|tools|server)',
        'Controllers watch, decide in core/ and write through adapters/.',
      ),
    ],
  ),
  layer(['process/**/*.ts'], PROCESS),
  // A later rule takes the place of an earlier one, so each of these has the patterns of its folder, too.
  layer(['workers/host/**/*.ts'], HOST),
  layer(['process/host/**/*.ts'], [...PROCESS, ...HOST]),
  layer(['host/**/*.ts'], [...MACHINE, ...HOST]),
  layer(['activities/host/**/*.ts'], [...ACTIVITIES, ...HOST]),
  layer(['adapters/host/**/*.ts'], [...ADAPTERS, ...HOST]),
  {
    // Where a node stands is decided once, in core/rollout/standing.ts; all others take its standing.
    files: ['core/rollout/**/*.ts', 'activities/cluster/step/**/*.ts', 'workflows/**/*.ts'],
    ignores: ['core/rollout/standing.ts', 'core/rollout/index.ts'],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          patterns: [
            {
              regex: '/(predicates|availability|unheard|rollout|index)$',
              importNames: [
                'annotationOf',
                'currentConfigOf',
                'desiredConfigOf',
                'isDegraded',
                'isDone',
                'isTargetedAt',
                'isUpdatedTo',
                'saysReady',
                'isAdopted',
                'isCordonedByPerson',
                'isCordonedBySlipway',
                'isDownUnknown',
                'isLeftUnavailable',
                'isTakenOut',
                'servesHalfDone',
                'isUnheard',
                'failedUnheard',
                'failedWithoutConfig',
                'isFailing',
                'isUnavailable',
                'takesRoom',
                'unavailability',
              ],
              message: 'Only core/rollout/standing.ts reads what a Node says; take its standing.',
            },
          ],
        },
      ],
    },
  },
  {
    files: ['**/index.ts'],
    rules: {
      'no-restricted-syntax': [
        'error',
        {
          selector:
            'Program > :not(ExportAllDeclaration, ExportNamedDeclaration), ExportNamedDeclaration[source=null]',
          message:
            'index.ts says what others take of a folder; what it holds has a file with a name.',
        },
      ],
    },
  },
  {
    files: ['test/**/*.ts', 'bench/**/*.ts'],
    rules: { '@typescript-eslint/unbound-method': 'off' },
  },
);
