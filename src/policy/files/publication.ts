/** The key `publication` of a policy file. Pure. */
import * as z from 'zod/mini';
import { interferenceActions, type PublicationLayer } from '../publication.ts';
import type { PolicyLayerKind } from '../policy.ts';

const entriesMax = 1_000;
const audiencesMax = 64;
const lettersMin = 4;
const canaryLettersMin = 8;

const about = (description: string) => z.describe<string>(description);

const paths = (description: string) =>
  z
    .array(z.string().check(z.minLength(1), z.maxLength(1_000)))
    .check(z.maxLength(entriesMax), z.describe(description));

/** Shorter ones would be found by chance: what is looked for is letters and digits alone. */
const told = (least: number) =>
  z.string().check(
    z.maxLength(200),
    z.refine((text) => (text.match(/[\p{L}\p{N}]/gu) ?? []).length >= least, {
      error: `must have at least ${least} letters or digits`,
    }),
  );

const audience = z.strictObject({
  deny: z.optional(paths('Paths that must not reach the audience, as in `files.deny`.')),
  sees: z.optional(
    paths('Paths that the audience has already. Left out: all that is not denied to it.'),
  ),
  names: z.optional(
    z
      .array(told(lettersMin))
      .check(
        z.maxLength(entriesMax),
        z.describe('Words that must not be published, however their parts are joined.'),
      ),
  ),
  interference: z.optional(
    z
      .enum(interferenceActions)
      .check(about('What a command made that could read what is denied. Default pass.')),
  ),
});

export const publicationSchema = z
  .strictObject({
    audiences: z.optional(
      z
        .record(
          z.string().check(
            z.regex(/^[a-z][a-z0-9-]{0,31}$/, {
              error: 'must be lower-case letters, digits and "-", such as "partners"',
            }),
          ),
          audience,
        )
        .check(
          z.refine((all) => Object.keys(all).length <= audiencesMax, {
            error: `must have at most ${audiencesMax} entries`,
          }),
          z.describe('What must not reach whom. Without a name it is "public".'),
        ),
    ),
    canaries: z.optional(
      z
        .array(told(canaryLettersMin))
        .check(
          z.maxLength(entriesMax),
          z.describe('Texts planted where nobody should read: they never leave, in no encoding.'),
        ),
    ),
  })
  .check(z.describe('What must not be published.'));

export function readPublicationLayer(
  text: z.infer<typeof publicationSchema> | undefined,
  kind: PolicyLayerKind,
): PublicationLayer | undefined {
  if (text === undefined) return undefined;
  return {
    audiences: Object.entries(text.audiences ?? {}).map(([name, rules]) => ({
      name,
      deny: rules.deny ?? [],
      sees: rules.sees === undefined ? [] : [rules.sees],
      names: rules.names ?? [],
      interference: rules.interference ?? 'pass',
    })),
    canaries: text.canaries ?? [],
    introduces: kind !== 'project',
  };
}
