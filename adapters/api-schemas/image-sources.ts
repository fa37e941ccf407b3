/** Objects that say where images come from. `core/registries` judges the values. */

import { z } from 'zod';
import { Condition, field, objectHead } from './object-schemas';

const status = field(z.looseObject({}));

const registries = field(z.array(z.string().max(512)).max(256));

export const Image = z.looseObject({
  ...objectHead,
  spec: z.looseObject({
    registrySources: field(
      z.looseObject({
        insecureRegistries: registries,
        blockedRegistries: registries,
        allowedRegistries: registries,
        containerRuntimeSearchRegistries: field(z.array(z.string().max(512)).max(64)),
      }),
    ),
  }),
  status,
});

const rule = {
  source: z.string().min(1).max(512),
  mirrors: field(z.array(z.string())),
};

const mirrorSourcePolicy = field(z.enum(['', 'AllowContactingSource', 'NeverContactSource']));

export const ImageDigestMirrorSet = z.looseObject({
  ...objectHead,
  spec: z.looseObject({
    imageDigestMirrors: field(z.array(z.looseObject({ ...rule, mirrorSourcePolicy }))),
  }),
  status,
});

export const ImageTagMirrorSet = z.looseObject({
  ...objectHead,
  spec: z.looseObject({
    imageTagMirrors: field(z.array(z.looseObject({ ...rule, mirrorSourcePolicy }))),
  }),
  status,
});

export const ImageContentSourcePolicy = z.looseObject({
  ...objectHead,
  spec: z.looseObject({
    repositoryDigestMirrors: field(z.array(z.looseObject(rule))),
  }),
  status,
});

const key = () => z.string().max(8192);
const repository = () => z.string().max(512);

const RootOfTrust = z.looseObject({
  policyType: z.enum(['PublicKey', 'FulcioCAWithRekor', 'PKI']),
  publicKey: field(z.looseObject({ keyData: key(), rekorKeyData: field(key()) })),
  fulcioCAWithRekor: field(
    z.looseObject({
      fulcioCAData: key(),
      rekorKeyData: key(),
      fulcioSubject: z.looseObject({ oidcIssuer: z.string(), signedEmail: z.string() }),
    }),
  ),
  pki: field(
    z.looseObject({
      caRootsData: key(),
      caIntermediatesData: field(key()),
      pkiCertificateSubject: z.looseObject({
        email: field(z.string()),
        hostname: field(z.string()),
      }),
    }),
  ),
});

const SignedIdentity = z.looseObject({
  matchPolicy: z.enum([
    'MatchRepoDigestOrExact',
    'MatchRepository',
    'ExactRepository',
    'RemapIdentity',
  ]),
  exactRepository: field(z.looseObject({ repository: repository() })),
  remapIdentity: field(z.looseObject({ prefix: repository(), signedPrefix: repository() })),
});

const policy = {
  ...objectHead,
  spec: z.looseObject({
    scopes: z.array(z.string().max(512)).min(1).max(256),
    policy: z.looseObject({ rootOfTrust: RootOfTrust, signedIdentity: field(SignedIdentity) }),
  }),
  status: field(
    z.looseObject({
      conditions: field(z.array(Condition.extend({ observedGeneration: field(z.int()) }))),
    }),
  ),
};

export const ClusterImagePolicy = z.looseObject(policy);
export const ImagePolicy = z.looseObject(policy);
