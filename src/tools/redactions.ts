/** What an answer of a tool hides: the number of places, the tags, and the advice. */
import * as z from 'zod/mini';
import { tagPattern, type RedactionSummary } from '../redacted.ts';
import type { ToolResult } from './tool.ts';

const tagsShown = 20;

export const redactionsField = z
  .object({
    /** For a command: in all of its output. */
    count: z.int(),
    /** The tags in their place, at most {@link tagsShown}. */
    tags: z.array(z.string()),
    note: z.string(),
  })
  .check(z.describe('what is hidden: do not write this text back'));

type Redactions = z.infer<typeof redactionsField>;

/** For a command that ended, the counts of its receipt; nothing if nothing was hidden. */
export function redactionFields(summary: RedactionSummary | null): {
  readonly redactions?: Redactions;
} {
  if (summary === null || summary.count === 0) return {};
  const tags = summary.entries.map((entry) => entry.tag);
  return { redactions: counted(summary.count, tags, summary.omitted) };
}

/** The result with its redactions reported, in its data and in its text. */
export function withRedactions(result: ToolResult): ToolResult {
  const given = redactionsField.safeParse(result.data['redactions']);
  const tags = result.text.match(tagPattern) ?? [];
  const redactions = given.success ? given.data : counted(tags.length, tags, 0);
  if (redactions.count === 0) return result;
  const text = `${result.text}${result.text.endsWith('\n') ? '' : '\n'}[note] ${redactions.note}`;
  return { ...result, data: { ...result.data, redactions }, text };
}

function counted(count: number, all: readonly string[], omitted: number): Redactions {
  const distinct = [...new Set(all)];
  const tags = distinct.slice(0, tagsShown);
  const more = distinct.length - tags.length + omitted;
  const places = count === 1 ? '1 place is' : `${count} places are`;
  const names = more === 0 ? tags.join(', ') : `${tags.join(', ')} and ${more} more`;
  const note =
    `${places} hidden and replaced by ${names}. ` +
    'Do not write this text back to a file, except whole lines of the same one: elsewhere the ' +
    'tag would replace the value. ' +
    'Edit only other lines, or with a command that never prints the value.';
  return { count, tags, note };
}
