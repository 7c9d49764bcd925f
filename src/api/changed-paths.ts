/** Parameters that name changed paths. */
import * as z from 'zod/mini';
import * as field from './param-fields.ts';

export const changedPathParams = {
  paths: z.exactOptional(field.changedPathsParam),
  paths_base64: z.exactOptional(field.changedPathsBase64Param),
};

/** Exactly one of `exec_id` and `other`. */
export const exactlyOneTarget = (other: 'session_id' | 'id') =>
  z.refine<Readonly<Record<string, unknown>>>(
    (given) => (given['exec_id'] === undefined) !== (given[other] === undefined),
    { path: ['exec_id'], error: `given, or "${other}", and not both` },
  );
