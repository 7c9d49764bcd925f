/**
 * Writes changes as a unified diff with git's headers, which `git apply` accepts. Changes that git
 * cannot express become comments, lines that begin with `#`. Names are the workspace's own bytes;
 * nothing is redacted here.
 */
import type { BytePath, Change, Entry } from '../../change.ts';
import type { ContentStore } from '../../content-store.ts';
import { limits } from '../../limits.ts';
import { gitFileLine, gitMode, gitName, octalMode } from './git-text.ts';
import {
  PeriodicYield,
  editsBetween,
  lineCount,
  splitTextLines,
  type LineEdit,
  type TextLines,
} from './line-diff.ts';

/** Git treats a file as binary if it has a NUL within this many bytes. */
const textBytes = 8_000;
const contextDefault = 3;
/** Maximum lines of a file that is compared. */
const linesMax = 200_000;
/** How long to search for shortest differences, for all files together, in ms. */
const searchMs = 3_000;

/** The part of the diff for one path; its text may be empty. */
export interface DiffSection {
  readonly change: Change;
  readonly text: Buffer;
  /** `null` if not counted. */
  readonly added: number | null;
  readonly removed: number | null;
  readonly binary: boolean;
  /** Whether some of its text is missing; a comment in the diff says so. */
  readonly isCut: boolean;
}
export interface UnifiedDiff {
  readonly sections: readonly DiffSection[];
  /** Whether changes, or the text of some, are missing. */
  readonly truncated: boolean;
}

/** One side of a file: its bytes, or why they cannot be shown. */
type Side =
  | { readonly kind: 'none' }
  | { readonly kind: 'bytes'; readonly bytes: Buffer }
  | { readonly kind: 'unknown' | 'large' };
interface How {
  readonly context: number;
  /** A time of `performance.now()`. */
  readonly until: number;
}
type Body = Omit<DiffSection, 'change' | 'text'> & { readonly text: string };

/**
 * Creates at most `limits.changesListed` sections and `limits.diffBytes` of text; names a file
 * larger than `limits.diffFileBytes` without its content. Yields to other work.
 *
 * @param context lines around each change; default 3
 * @throws TrlError `INTERNAL_ERROR` if a stored content is damaged
 */
export async function createUnifiedDiff(
  changes: readonly Change[],
  contents: Pick<ContentStore, 'read'>,
  { context = contextDefault }: { readonly context?: number } = {},
): Promise<UnifiedDiff> {
  const sections: DiffSection[] = [];
  const how = { context, until: performance.now() + searchMs };
  let left = limits.diffBytes.default;
  let truncated = changes.length > limits.changesListed.max;
  for (const change of changes.slice(0, limits.changesListed.max)) {
    let body = await bodyOf(change, contents, how);
    if (body.text.length > left) {
      body = { ...body, isCut: true, text: note(change.path, 'left out: the diff is too large') };
      if (body.text.length > left) body = { ...body, text: '' };
    }
    left -= body.text.length;
    truncated ||= body.isCut;
    const { text, ...rest } = body;
    sections.push({ change, text: Buffer.from(text, 'latin1'), ...rest });
  }
  return { sections, truncated };
}

async function bodyOf(
  change: Change,
  contents: Pick<ContentStore, 'read'>,
  how: How,
): Promise<Body> {
  const { path, before, after } = change;
  const from = gitMode(before);
  const to = gitMode(after);
  const odd = oddly(change);
  if (from === null && to === null) return { ...silent, text: odd };
  const [old, now] = [await sideOf(before, contents), await sideOf(after, contents)];
  const parts: Body[] = [];
  // If a link replaces a file, the file is deleted first: one header cannot express both.
  const isOther = from !== null && to !== null && (from === '120000') !== (to === '120000');
  if (isOther) {
    parts.push(await fileDiff(path, { mode: from, side: old }, null, how));
    parts.push(await fileDiff(path, null, { mode: to, side: now }, how));
  } else {
    const a = from === null ? null : { mode: from, side: old };
    const b = to === null ? null : { mode: to, side: now };
    parts.push(await fileDiff(path, a, b, how));
  }
  const sum = (pick: (body: Body) => number | null): number | null =>
    parts.some((body) => pick(body) === null)
      ? null
      : parts.reduce((total, body) => total + (pick(body) ?? 0), 0);
  return {
    text: parts.map(({ text }) => text).join('') + odd,
    added: sum(({ added }) => added),
    removed: sum(({ removed }) => removed),
    binary: parts.some(({ binary }) => binary),
    isCut: parts.some(({ isCut }) => isCut),
  };
}

const silent = { added: null, removed: null, binary: false, isCut: false };
const cut = { ...silent, isCut: true };
const note = (path: BytePath, text: string): string => `# ${gitName(path)}: ${text}\n`;

/** Comments for changes that git's format cannot express. */
function oddly({ path, kind, before, after }: Change): string {
  const notes: string[] = [];
  for (const [entry, what] of [
    [before, 'was'],
    [after, 'is'],
  ] as const) {
    if (entry !== null && !['file', 'symlink', 'directory'].includes(entry.type)) {
      notes.push(note(path, `${what} a ${entry.type}`));
    }
  }
  if (kind === 'type' && before?.type === 'directory') notes.push(note(path, 'was a directory'));
  if (kind === 'type' && after?.type === 'directory') notes.push(note(path, 'is a directory'));
  if (kind === 'mode' && gitMode(before) === gitMode(after)) {
    const [old, now] = [modeOf(before), modeOf(after)];
    if (old !== null && now !== null && old !== now) {
      notes.push(note(path, `mode ${old} -> ${now}`));
    }
  }
  return notes.join('');
}

const modeOf = (entry: Entry | null): string | null =>
  entry === null || entry.type === 'symlink' ? null : octalMode(entry.mode);

async function sideOf(entry: Entry | null, contents: Pick<ContentStore, 'read'>): Promise<Side> {
  if (entry?.type === 'symlink') {
    return { kind: 'bytes', bytes: Buffer.from(entry.target, 'latin1') };
  }
  if (entry?.type !== 'file') return { kind: 'none' };
  if (entry.size === 0) return { kind: 'bytes', bytes: Buffer.alloc(0) };
  if (entry.size > limits.diffFileBytes.default) return { kind: 'large' };
  const bytes = entry.sha256 === null ? null : await contents.read(entry.sha256);
  return bytes === null ? { kind: 'unknown' } : { kind: 'bytes', bytes };
}

interface FileSide {
  readonly mode: string;
  readonly side: Side;
}

async function fileDiff(
  path: BytePath,
  before: FileSide | null,
  after: FileSide | null,
  how: How,
): Promise<Body> {
  const [a, b] = [gitName(`a/${path}`), gitName(`b/${path}`)];
  let head = `diff --git ${a} ${b}\n`;
  if (before === null) head += `new file mode ${after?.mode ?? ''}\n`;
  else if (after === null) head += `deleted file mode ${before.mode}\n`;
  else if (before.mode !== after.mode) {
    head += `old mode ${before.mode}\nnew mode ${after.mode}\n`;
  }
  const old = before?.side ?? { kind: 'none' };
  const now = after?.side ?? { kind: 'none' };
  const isEqual = old.kind === 'bytes' && now.kind === 'bytes' && old.bytes.equals(now.bytes);
  if (isEqual) {
    const isNews = before?.mode !== after?.mode;
    return { ...silent, text: isNews ? head : '', added: 0, removed: 0 };
  }
  if (old.kind === 'large' || now.kind === 'large') {
    return { ...cut, text: `${head}${note(path, 'too large to show')}` };
  }
  if (old.kind === 'unknown' || now.kind === 'unknown') {
    const which = old.kind === 'unknown' ? 'old' : 'new';
    return { ...cut, text: `${head}${note(path, `the ${which} content was not kept`)}` };
  }
  const bytesOf = (side: Side): Buffer => (side.kind === 'bytes' ? side.bytes : Buffer.alloc(0));
  const pair = { old: bytesOf(old), new: bytesOf(now) };
  const names = {
    a: before === null ? '/dev/null' : gitFileLine('a/', path),
    b: after === null ? '/dev/null' : gitFileLine('b/', path),
  };
  if (isBinary(pair.old) || isBinary(pair.new)) {
    const [left, right] = [names.a.trimEnd(), names.b.trimEnd()];
    const text = `${head}Binary files ${left} and ${right} differ\n`;
    return { ...silent, text, binary: true };
  }
  const found = await hunks(pair, how);
  if (found === null) return { ...cut, text: `${head}${note(path, 'too large to show')}` };
  const { text, added, removed } = found;
  if (text === null) {
    return { ...cut, text: head + note(path, 'too large to show'), added, removed };
  }
  const files = text === '' ? '' : `--- ${names.a}\n+++ ${names.b}\n`;
  return { ...silent, text: head + files + text, added, removed };
}

const isBinary = (bytes: Buffer): boolean => bytes.subarray(0, textBytes).includes(0);

async function hunks(
  pair: { readonly old: Buffer; readonly new: Buffer },
  { context, until }: How,
): Promise<{
  readonly text: string | null;
  readonly added: number;
  readonly removed: number;
} | null> {
  const [old, now] = [await splitTextLines(pair.old), await splitTextLines(pair.new)];
  if (lineCount(old) > linesMax || lineCount(now) > linesMax) return null;
  const edits = await editsBetween(old, now, until);
  const out: string[] = [];
  const breath = new PeriodicYield();
  const sizeOf = (edit: LineEdit): number =>
    bytesIn(old, edit.oldFrom, edit.oldTo) + bytesIn(now, edit.newFrom, edit.newTo);
  const size = edits.reduce((total, edit) => total + sizeOf(edit), 0);
  // A larger text would not be shown, so it is not built.
  const isShown = size <= limits.diffBytes.default;
  const shown = isShown ? edits : [];
  for (let first = 0; first < shown.length;) {
    let last = first;
    // Changes with overlapping context share a hunk.
    for (let next = edits[last + 1]; next !== undefined; next = edits[last + 1]) {
      if (next.oldFrom - (edits[last]?.oldTo ?? 0) > 2 * context) break;
      last += 1;
    }
    await hunk(out, { old, now, breath }, edits.slice(first, last + 1), context);
    first = last + 1;
  }
  const count = (side: (edit: LineEdit) => number): number =>
    edits.reduce((total, edit) => total + side(edit), 0);
  return {
    text: isShown ? out.join('') : null,
    added: count((edit) => edit.newTo - edit.newFrom),
    removed: count((edit) => edit.oldTo - edit.oldFrom),
  };
}

const bytesIn = ({ starts }: TextLines, from: number, to: number): number =>
  (starts[to] ?? 0) - (starts[from] ?? 0);

async function hunk(
  out: string[],
  {
    old,
    now,
    breath,
  }: { readonly old: TextLines; readonly now: TextLines; readonly breath: PeriodicYield },
  edits: readonly LineEdit[],
  context: number,
): Promise<void> {
  const [first, last] = [edits[0], edits.at(-1)];
  if (first === undefined || last === undefined) return;
  const before = Math.min(context, first.oldFrom);
  const after = Math.min(context, lineCount(old) - last.oldTo);
  const [oldFrom, oldTo] = [first.oldFrom - before, last.oldTo + after];
  const [newFrom, newTo] = [first.newFrom - before, last.newTo + after];
  const put = async (
    mark: ' ' | '-' | '+',
    { bytes, starts }: TextLines,
    [from, to]: readonly [number, number],
  ): Promise<void> => {
    for (let line = from; line < to; line += 1) {
      const text = bytes.toString('latin1', starts[line], starts[line + 1]);
      out.push(mark, text);
      if (!text.endsWith('\n')) out.push('\n\\ No newline at end of file\n');
      if (out.length % 1_024 < 3) await breath.yieldIfDue();
    }
  };
  out.push(`@@ -${rangeOf(oldFrom, oldTo)} +${rangeOf(newFrom, newTo)} @@\n`);
  let at = oldFrom;
  for (const edit of edits) {
    await put(' ', old, [at, edit.oldFrom]);
    await put('-', old, [edit.oldFrom, edit.oldTo]);
    await put('+', now, [edit.newFrom, edit.newTo]);
    at = edit.oldTo;
  }
  await put(' ', old, [at, oldTo]);
}

/** `start,count` with lines from 1; an empty range names the line before it. */
function rangeOf(from: number, to: number): string {
  if (to - from === 1) return String(from + 1);
  return to === from ? `${from},0` : `${from + 1},${to - from}`;
}
