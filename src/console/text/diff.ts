/** A unified diff with git's headers, as files of hunks of numbered lines. */

export interface DiffLine {
  readonly kind: 'same' | 'added' | 'removed' | 'note';
  readonly text: string;
  /** Numbers of the line before and after; `null`: there is none on that side. */
  readonly before: number | null;
  readonly after: number | null;
}
export interface DiffHunk {
  /** The text after the second `@@`. */
  readonly heading: string;
  readonly lines: readonly DiffLine[];
}
export interface FileDiff {
  /** The name in the headers; '' for text before any header. */
  readonly path: string;
  /** Lines between the header and the first hunk: modes, renames, binary. */
  readonly notes: readonly string[];
  readonly hunks: readonly DiffHunk[];
}

interface Open {
  path: string;
  notes: string[];
  hunks: { heading: string; lines: DiffLine[] }[];
}

/** A longer diff shows consecutive lines of one kind as one row. */
const linesAlone = 5_000;
const rowLines = 200;

/** The lines as rows that a page can hold; a row of several lines has the numbers of its first. */
export function groupDiffRows(lines: readonly DiffLine[], all: number): readonly DiffLine[] {
  if (all <= linesAlone) return lines;
  const rows: DiffLine[] = [];
  for (let from = 0; from < lines.length;) {
    const first = lines[from];
    if (first === undefined) break;
    let to = from + 1;
    while (to - from < rowLines && lines[to]?.kind === first.kind) to += 1;
    const texts = lines.slice(from, to).map(({ text }) => text);
    rows.push({ ...first, text: texts.join('\n') });
    from = to;
  }
  return rows;
}

const hunkHead = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)$/;

/**
 * Reads by the counts in the heads of the hunks, so that a removed line `-- a/x` is not a header.
 * Text that is not a diff becomes notes: nothing is omitted.
 */
export function parseUnifiedDiff(text: string): FileDiff[] {
  if (text === '') return [];
  const files: Open[] = [];
  const lines = text.endsWith('\n') ? text.slice(0, -1).split('\n') : text.split('\n');
  let at = 0;
  while (at < lines.length) {
    const line = lines[at] ?? '';
    const file = files.at(-1);
    const head = hunkHead.exec(line);
    if (line.startsWith('diff --git ')) {
      files.push({ path: pathOf(line.slice('diff --git '.length)), notes: [], hunks: [] });
      at += 1;
    } else if (head !== null && file !== undefined) {
      at = readHunk(lines, at + 1, head, file);
    } else {
      const target = file ?? open(files);
      const named = /^\+\+\+ (?:b\/)?(.+?)\t?$/.exec(line);
      if (named?.[1] !== undefined && named[1] !== '/dev/null') target.path = unquoted(named[1]);
      else if (!/^(?:---|\+\+\+) /.test(line)) target.notes.push(line);
      at += 1;
    }
  }
  return files;
}

function open(files: Open[]): Open {
  const made: Open = { path: '', notes: [], hunks: [] };
  files.push(made);
  return made;
}

/** `a/x b/x` → `x`: both halves name the same file. */
function pathOf(names: string): string {
  const half = names.slice(Math.floor(names.length / 2) + 1);
  return unquoted(half).replace(/^b\//, '');
}

function unquoted(name: string): string {
  return /^"(?:b\/)?(.*)"$/.exec(name)?.[1] ?? name;
}

function readHunk(
  lines: readonly string[],
  from: number,
  head: RegExpExecArray,
  file: Open,
): number {
  let before = Number(head[1]);
  let after = Number(head[3]);
  let beforeLeft = Number(head[2] ?? 1);
  let afterLeft = Number(head[4] ?? 1);
  const hunk: Open['hunks'][number] = { heading: head[5] ?? '', lines: [] };
  file.hunks.push(hunk);
  let at = from;
  for (; at < lines.length; at += 1) {
    const line = lines[at] ?? '';
    const text = line.slice(1);
    if (line.startsWith('\\')) {
      hunk.lines.push({ kind: 'note', text: text.trim(), before: null, after: null });
    } else if (beforeLeft <= 0 && afterLeft <= 0) {
      break;
    } else if (line.startsWith('+')) {
      hunk.lines.push({ kind: 'added', text, before: null, after });
      after += 1;
      afterLeft -= 1;
    } else if (line.startsWith('-')) {
      hunk.lines.push({ kind: 'removed', text, before, after: null });
      before += 1;
      beforeLeft -= 1;
    } else {
      hunk.lines.push({ kind: 'same', text, before, after });
      before += 1;
      after += 1;
      beforeLeft -= 1;
      afterLeft -= 1;
    }
  }
  return at;
}
