/** Parameters that name changed paths. */
import * as z from 'zod/mini';
import * as field from './fields.ts';

export const paths = {
  paths: z.exactOptional(field.changedPaths),
  paths_base64: z.exactOptional(field.changedPathsBase64),
};

/** Exactly one of `exec_id` and `other`. */
export const oneTarget = (other: 'session_id' | 'id') =>
  z.refine<Readonly<Record<string, unknown>>>(
    (given) => (given['exec_id'] === undefined) !== (given[other] === undefined),
    { path: ['exec_id'], error: `given, or "${other}", and not both` },
  );
