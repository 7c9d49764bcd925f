/** Schema of the method around the console, as `methods.ts` spreads it in. */
import * as z from 'zod/mini';
import * as field from './fields.ts';

/** One row a method: the schema of its `params`. */
export const consoleMethods = {
  'console.login': z.object({ passphrase: z.exactOptional(field.passphrase) }),
} as const;
