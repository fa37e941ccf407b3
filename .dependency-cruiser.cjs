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
      '^(activities|adapters|controllers|server|workers|cli|tools|bench|test)/',
      'Workflows declare contracts; the others satisfy them.',
    ),
    forbid(
      'adapters-know-core-only',
      '^adapters/',
      '^(workflows|activities|controllers|server|workers|cli|tools|bench|test)/',
      'Adapters know core/ and their client library.',
    ),
    forbid(
      'activities-see-ports',
      '^activities/',
      '^(adapters/(?!host/)|controllers|server|workers|cli|tools|bench|test)/',
      'Activities see ports; composition roots pass adapters in. Of adapters/host come names and checks of paths.',
    ),
    forbid(
      'cluster-activities-see-ports',
      '^activities/cluster/',
      '^adapters/',
      'Cluster activities see ports; composition roots pass adapters in.',
    ),
    forbid(
      'controllers-and-server-start-themselves',
      '^(controllers|server)/',
      '^(host|activities|workers|cli)/',
      'Controllers and server take the shell of a process from process/, and nothing of what workers do.',
    ),
    forbid(
      'host-without-kubernetes',
      '^(workers/host/|host/|activities/host/|adapters/host/)',
      '(^adapters/kube/|^activities/cluster/|node_modules/@kubernetes/|node_modules/zod/)',
      'The host worker holds no Kubernetes client and no zod.',
    ),
    forbid(
      'product-knows-no-tools',
      '^(core|workflows|activities|adapters|controllers|server|workers|cli)/',
      '^(tools|bench|test)/',
      'Development servers, benchmarks and tests are not part of the product.',
    ),
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { extensions: ['.ts', '.js', '.json'] },
  },
};
