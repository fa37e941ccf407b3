'use strict';
/** The arrows between folders (docs/architecture.md), and no cycles. */
const forbid = (name, from, to, comment) => ({
  name,
  severity: 'error',
  comment,
  from: { path: from },
  to: { path: to },
});

module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      severity: 'error',
      comment: 'Two files that import each other are one subject or need a third.',
      from: {},
      to: { circular: true, dependencyTypesNot: ['type-only'] },
    },
    forbid(
      'core-is-pure',
      '^core/',
      '^(?!core/|(node:)?(buffer|crypto|util)$)',
      'core/ imports nothing outside itself but the parts of Node that only compute.',
    ),
    forbid(
      'workflows-import-core-only',
      '^workflows/',
      '^(host|activities|adapters|process|controllers|server|workers|cli|tools|bench|demo|test)/',
      'Workflows declare contracts; the others satisfy them.',
    ),
    forbid(
      'adapters-know-core-only',
      '^adapters/',
      '^(workflows|host|activities|process|controllers|server|workers|cli|tools|bench|demo|test)/',
      'Adapters know core/ and their client library.',
    ),
    forbid(
      'host-is-run-by-others',
      '^host/',
      '^(adapters/(?!host/)|activities|process|controllers|server|workers|cli|tools|bench|demo|test)/',
      'What decides on a machine knows core/, the contracts and adapters/host; activities/host and workers/host run it.',
    ),
    forbid(
      'activities-see-ports',
      '^activities/',
      '^(adapters/(?!host/)|process|controllers|server|workers|cli|tools|bench|demo|test)/',
      'Activities see ports; composition roots pass adapters in. Of adapters/host come names and checks of paths.',
    ),
    forbid(
      'cluster-activities-see-ports',
      '^activities/cluster/',
      '^(adapters|host)/',
      'Cluster activities see ports; composition roots pass adapters in.',
    ),
    forbid(
      'process-is-a-shell',
      '^process/',
      '^(host|activities|adapters|controllers|server|workers|cli|tools|bench|demo|test)/',
      'The shell of a process is the same whatever runs in it: what runs takes the shell.',
    ),
    forbid(
      'controllers-and-server-start-themselves',
      '^(controllers|server)/',
      '^(host|activities|workers|cli)/',
      'Controllers and server take the shell of a process from process/, and nothing of what workers do.',
    ),
    {
      name: 'host-without-kubernetes',
      severity: 'error',
      comment:
        'The host worker holds no Kubernetes client, no zod and nothing that makes certificates, also by way of what it imports.',
      from: { path: '^(host|workers/host|process/host|activities/host|adapters/host)/' },
      to: {
        path: '(^adapters/kube/|^activities/cluster/|node_modules/@kubernetes/|node_modules/@peculiar/|node_modules/zod/)',
        reachable: true,
      },
    },
    forbid(
      'product-knows-no-tools',
      '^(core|workflows|host|activities|adapters|process|controllers|server|workers|cli)/',
      '^(tools|bench|demo|test)/',
      'Development servers, benchmarks, the demo and tests are not part of the product.',
    ),
    forbid(
      'tools-serve-the-others',
      '^tools/',
      '^(bench|demo|test)/',
      'Benchmarks, the demo and tests start development servers, not the other way.',
    ),
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { extensions: ['.ts', '.js', '.json'] },
  },
};
