/** Redacts diffs in the same way as output of commands. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { BytePath } from '../../change.ts';
import type { WorkspaceDiff } from '../../api/changes.ts';
import { secretPriorOf } from '../../redaction/detect/secret-prior.ts';
import type { KnownIndex } from '../../redaction/known/known-index.ts';
import { openRedactor, type RedactionOptions } from '../../redaction/open-redactor.ts';
import type { RedactionTags } from '../../redaction/redaction-tags.ts';
import type { DiffSection, UnifiedDiff } from './unified-diff.ts';
import { pathView } from '../workspaces/change-views.ts';

export interface DiffRedaction {
  readonly options: RedactionOptions;
  readonly tags: RedactionTags;
  /** The known values; `null` if there are none. */
  readonly index: KnownIndex | null;
}

/** Bytes scanned before other work may run. */
const stepBytes = 64 * 1024;

/** Redacts each file by itself, since its name indicates its content. Yields to other work. */
export async function redactDiff(
  { sections, truncated }: UnifiedDiff,
  redaction: DiffRedaction,
): Promise<WorkspaceDiff> {
  const texts: string[] = [];
  for (const section of sections) texts.push(await redacted(section, redaction));
  const files = sections.map(({ change, added, removed, binary }) => ({
    ...pathView(change.path),
    kind: change.kind,
    state: change.state,
    added_lines: added,
    removed_lines: removed,
    binary,
  }));
  return { diff: texts.join(''), files, truncated };
}

async function redacted({ change, text }: DiffSection, redaction: DiffRedaction): Promise<string> {
  if (text.length === 0) return '';
  const shown = (await redactContent(change.path, text, redaction)).toString('utf8');
  // If the whole last line was redacted, its line end is missing.
  return shown.endsWith('\n') ? shown : `${shown}\n`;
}

/** Redacts the content of a file. Yields to other work. */
export async function redactContent(
  path: BytePath,
  text: Buffer,
  { options, tags, index }: DiffRedaction,
): Promise<Buffer> {
  // The command that would print this file decides what is likely to be secret.
  const name = Buffer.from(path, 'latin1')
    .toString('utf8')
    .replaceAll(/[^\w./-]/gu, '_');
  const prior = secretPriorOf(`cat -- ./${name}`);
  const stream = openRedactor({ options, prior, index, tags, onRedaction: () => {} });
  const out: Uint8Array[] = [];
  for (let at = 0; at < text.length; at += stepBytes) {
    out.push(stream.push(text.subarray(at, at + stepBytes)));
    await nextTurn();
  }
  out.push(stream.end());
  return Buffer.concat(out);
}
