import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { accessOf, inWords, PROCESS_NAMES, RULES } from '../../../../cli/doctor/access-rules';

interface Role {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly rules: readonly {
    readonly apiGroups: readonly string[];
    readonly resources: readonly string[];
    readonly resourceNames?: readonly string[];
    readonly verbs: readonly string[];
  }[];
}

const DIRECTORY = join(__dirname, '..', '..', '..', '..', 'deploy', 'rbac');

function rolesIn(directory: string): readonly Role[] {
  return readdirSync(directory)
    .filter((file) => file.endsWith('.yaml'))
    .flatMap((file) => parseAllDocuments(readFileSync(join(directory, file), 'utf8')))
    .map((document) => document.toJS() as Role)
    .filter(({ kind }) => kind === 'Role' || kind === 'ClusterRole');
}

/** What a role allows, each as one question. */
function allowedBy({ metadata: { namespace }, rules }: Role): readonly string[] {
  const where = namespace === undefined ? {} : { namespace };
  return rules.flatMap(({ apiGroups, resources, resourceNames = [undefined], verbs }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((full) => {
        const [resource = '', subresource] = full.split('/');
        const part = subresource === undefined ? {} : { subresource };
        return resourceNames.flatMap((name) =>
          verbs.map((verb) =>
            inWords({
              verb,
              group,
              resource,
              ...part,
              ...(name === undefined ? {} : { name }),
              ...where,
            }),
          ),
        );
      }),
    ),
  );
}

it.each(PROCESS_NAMES)(
  'the doctor asks for all that the roles of %s allow, and no more',
  (name) => {
    const roles = rolesIn(DIRECTORY).filter(({ metadata }) => metadata.name === name);
    const asked = RULES[name].flatMap((rule) => accessOf(rule).map(inWords));

    expect(roles.length).toBeGreaterThan(0);
    expect([...asked].sort()).toEqual(roles.flatMap(allowedBy).sort());
  },
);
