/** Answers of `publish.check` and `publish`. */
import * as z from 'zod/mini';
import * as word from './words.ts';

const decision = z.enum(['pass', 'review', 'block']);
const range = z.nullable(z.tuple([word.count, word.count]));

const evidence = z.object({
  score: z.nullable(z.number()),
  source: z.string(),
  span: range,
  lines: range,
  via: word.names,
  text: word.nullableText,
});

export const publishFinding = z.object({
  rule: z.string(),
  decision,
  item: word.nullableText,
  trace: z.string(),
  evidence: z.exactOptional(evidence),
});

/** What the gate says of what is to leave. */
export const publishVerdict = z.object({
  decision,
  basis: z.enum(['non-interference', 'scan']),
  audience: z.string(),
  policy_version: z.string(),
  items: word.count,
  bytes: word.count,
  digest: word.sha256,
  findings: z.array(publishFinding),
});

const published = z.extend(publishVerdict, {
  publication_id: word.id('p-'),
  directory: z.string(),
  files: z.array(
    z.object({
      path: z.string(),
      path_base64: z.exactOptional(z.string()),
      type: z.enum(['file', 'symlink']),
      mode: z.string(),
      size: word.count,
      sha256: word.sha256,
    }),
  ),
});

export const publishAnswers = {
  'publish.check': publishVerdict,
  publish: published,
} as const;
