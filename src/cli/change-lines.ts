/** What commands changed, as lines for a person. */
import type { ChangeView, DiffFile, ExecEnd } from '../client/index.ts';
import { escapeHiddenText, printDimmed } from './print.ts';

/** One letter a kind, as `git status` has them where it knows the kind. */
const letters: Readonly<Record<ChangeView['kind'], string>> = {
  added: 'A',
  modified: 'M',
  deleted: 'D',
  mode: 'P',
  type: 'T',
  symlink: 'L',
  special: 'S',
  'metadata-only': '.',
};
/** Paths of one state that are named in a line. */
const namedMax = 3;
const barMax = 40;

/** `M  src/a.txt`, and what is to be known of it. */
function changeLine(change: ChangeView): string {
  const { kind, path, state, reason, before, after, marks } = change;
  const notes: string[] = [];
  if (state !== 'applied') notes.push(reason === null ? state : `${state}: ${reason}`);
  if (kind === 'mode') notes.push(`${before?.mode ?? '?'} to ${after?.mode ?? '?'}`);
  if (kind === 'type') notes.push(`${before?.type ?? '?'} to ${after?.type ?? '?'}`);
  if (after?.target !== undefined) notes.push(`to ${escapeHiddenText(after.target)}`);
  if (after?.entries !== undefined) {
    const { files, directories, links } = after.entries;
    notes.push(`directory with ${files + directories + links} entries, recorded as one`);
  } else if (after?.type === 'directory' && kind !== 'type') notes.push('directory');
  notes.push(...marks);
  if (typeof change.kept_as === 'string') {
    notes.push(`its own: trl snapshot show ${escapeHiddenText(change.kept_as)}`);
  }
  if (change.concurrent_with.length > 0) {
    notes.push(`or done by ${change.concurrent_with.join(', ')}`);
  }
  const said = notes.length === 0 ? '' : `  (${notes.join('; ')})`;
  return `${letters[kind]}  ${escapeHiddenText(path)}${said}`;
}

/** One line a change, and how many are not listed. */
export function changeLines(changes: readonly ChangeView[], total: number): string[] {
  const rest = total - changes.length;
  return [...changes.map(changeLine), ...(rest > 0 ? [`   and ${rest} more`] : [])];
}

/** Files with their counts of lines, as `git diff --stat` has them. */
export function statLines(files: readonly DiffFile[]): string[] {
  const width = Math.max(0, ...files.map(({ path }) => escapeHiddenText(path).length));
  const counts = files.map((file) => (file.added_lines ?? 0) + (file.removed_lines ?? 0));
  const digits = String(Math.max(0, ...counts)).length;
  const scale = Math.min(1, barMax / Math.max(1, ...counts));
  const lines = files.map((file, at) => {
    const [added, removed] = [file.added_lines ?? 0, file.removed_lines ?? 0];
    const marks = '+'.repeat(Math.ceil(added * scale)) + '-'.repeat(Math.ceil(removed * scale));
    const isCounted = file.added_lines !== null || file.removed_lines !== null;
    const what = file.binary ? 'binary' : file.kind;
    const said = isCounted ? `${String(counts[at]).padStart(digits)} ${marks}` : what;
    const state = file.state === 'applied' ? '' : ` (${file.state})`;
    return ` ${escapeHiddenText(file.path).padEnd(width)} | ${said}${state}`.trimEnd();
  });
  const total = (side: (file: DiffFile) => number | null): number =>
    files.reduce((all, file) => all + (side(file) ?? 0), 0);
  const added = total((file) => file.added_lines);
  const removed = total((file) => file.removed_lines);
  const count = files.length === 1 ? '1 file' : `${files.length} files`;
  return [...lines, ` ${count} changed, ${added} added lines, ${removed} removed`];
}

interface ChangePrintOptions {
  /** `attention`: only what did not simply happen; `all`: every change. */
  readonly which: 'attention' | 'all';
  /** Whether to print how to show changes and how to undo them. */
  readonly guides: boolean;
  /** Whether the session, and what waits in it, ends now. */
  readonly ends: boolean;
}

/** Whether something of the command waits in its session. */
export const hasWaitingChanges = ({ changes }: Pick<ExecEnd, 'changes'>): boolean =>
  changes.some(({ state }) => state === 'staged' || state === 'held');

/** What a command did to its workspace, on standard error. */
export function printChanges(end: ExecEnd, { which, guides, ends }: ChangePrintOptions): void {
  const { changes, changes_omitted: omitted, session_id: session } = end;
  if (which === 'all') {
    const lines = changeLines(changes, changes.length + omitted);
    if (end.snapshot !== null && lines.length === 0) printDimmed('it changed nothing');
    for (const line of lines) process.stderr.write(`${line}\n`);
  }
  const of = (state: ChangeView['state']): ChangeView[] =>
    changes.filter((change) => change.state === state);
  const [held, staged, conflicts] = [of('held'), of('staged'), of('conflict')];
  const to = ` --session ${session}`;
  if (staged.length > 0) {
    // Staged changes are all or none of a command's: what is left out is staged as well.
    const count = staged.length + omitted;
    printDimmed(`staged, not in the real tree yet: ${named(staged, count)}`);
    printDimmed(`look: trl diff${to}; publish: trl workspace apply${to}; or discard`);
  }
  if (held.length > 0) {
    printDimmed(`held back from the real tree: ${named(held, held.length)}`);
    printDimmed(
      ends
        ? 'the runtime ends with this command; to decide about such changes, start: trl serve'
        : `apply it: trl workspace apply --held${to}`,
    );
  }
  const [applied, discarded] = [of('applied'), of('discarded')];
  if (guides && applied.length > 0) {
    printDimmed(`look: trl diff ${end.exec_id}; undo: trl undo ${end.exec_id}`);
  } else if (guides && discarded.length > 0) {
    printDimmed(`nothing of it was kept; look: trl diff ${end.exec_id}`);
  }
  if (conflicts.length > 0) {
    printDimmed(
      `changed by somebody else meanwhile, theirs stands: ${named(conflicts, conflicts.length)}`,
    );
    const kept = conflicts.flatMap(({ kept_as: name }) => name ?? []);
    for (const name of kept.slice(0, namedMax)) {
      printDimmed(`the command's own version: trl snapshot show ${escapeHiddenText(name)}`);
    }
  }
}

function named(changes: readonly ChangeView[], total: number): string {
  const shown = changes.slice(0, namedMax).map(({ path, reason }) => {
    return reason === null ? path : `${path} (${reason})`;
  });
  const rest = total - shown.length;
  return `${shown.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}
