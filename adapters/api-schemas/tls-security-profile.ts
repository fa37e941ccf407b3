import { z } from 'zod';
import { field } from './object-schemas';

const empty = () => field(z.looseObject({}).nullable());

export const TlsSecurityProfile = z.looseObject({
  type: field(z.enum(['', 'Old', 'Intermediate', 'Modern', 'Custom'])),
  old: empty(),
  intermediate: empty(),
  modern: empty(),
  custom: field(
    z
      .looseObject({
        ciphers: field(z.array(z.string())),
        minTLSVersion: field(
          z.enum(['VersionTLS10', 'VersionTLS11', 'VersionTLS12', 'VersionTLS13']),
        ),
      })
      .nullable(),
  ),
});
