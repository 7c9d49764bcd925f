/** A unified diff, file by file. */
import type { DiffFile, WorkspaceDiff, ChangeView } from '../../client/index.ts';
import { parseUnifiedDiff, groupDiffRows, type DiffLine, type FileDiff } from '../text/diff.ts';
import { mergeLineEnds } from '../text/rule-segments.ts';
import { splitTextFragments, toVisibleLine } from '../text/visible.ts';
import { TextFragments, VisibleText } from './visible-text.tsx';

const signs = { same: ' ', added: '+', removed: '−', note: ' ' } as const;

export function DiffView({ of }: { readonly of: WorkspaceDiff }) {
  const states = new Map(of.files.map(({ path, state }) => [path, state]));
  const files = parseUnifiedDiff(of.diff);
  const all = files.flatMap(({ hunks }) => hunks).reduce((sum, { lines }) => sum + lines.length, 0);
  return (
    <div class="diff">
      {files.map((file, index) => (
        <File key={index} file={file} all={all} state={states.get(file.path) ?? 'applied'} />
      ))}
    </div>
  );
}

interface FileProps {
  readonly file: FileDiff;
  /** Lines of the whole diff. */
  readonly all: number;
  readonly state: DiffFile['state'];
}

function File({ file, all, state }: FileProps) {
  const lines = file.hunks.flatMap((hunk) => hunk.lines);
  const count = (kind: DiffLine['kind']): number =>
    lines.filter((line) => line.kind === kind).length;
  return (
    <section class="file" aria-label={`Changes of ${toVisibleLine(file.path)}`}>
      <h3>
        <VisibleText of={file.path} mono />
        {state !== 'applied' && <span class="pill ask">{state}</span>}
        <span class="plus">+{count('added')}</span>
        <span class="minus">−{count('removed')}</span>
      </h3>
      {file.notes.map((note, index) => (
        <p class="quiet mono" key={index}>
          <VisibleText of={note} mono />
        </p>
      ))}
      {file.hunks.map((hunk, index) => (
        <div class="hunk" key={index}>
          {groupDiffRows(hunk.lines, all).map((line, at) => (
            <div class={`row ${line.kind}`} key={at}>
              <span class="number">{line.before ?? ''}</span>
              <span class="number">{line.after ?? ''}</span>
              <span class="sign">{signs[line.kind]}</span>
              <code>
                <TextFragments fragments={mergeLineEnds(splitTextFragments(line.text), 0)} />
              </code>
            </div>
          ))}
        </div>
      ))}
    </section>
  );
}

/** Paths that a command changed, and what happened to each. */
export function ChangeList({ of }: { readonly of: readonly ChangeView[] }) {
  return (
    <ul class="change-list">
      {of.map((change, index) => (
        <li key={index}>
          <span class={`change ${change.kind}`}>{change.kind}</span>
          <VisibleText of={change.path} mono />
          {change.state !== 'applied' && (
            <span class="quiet">
              {change.state}
              {change.reason !== null && `: ${change.reason}`}
            </span>
          )}
          {change.marks.includes('merged') && <span class="quiet">merged</span>}
          {typeof change.kept_as === 'string' && (
            <span class="quiet">
              its own version: <VisibleText of={`trl snapshot show ${change.kept_as}`} mono />
            </span>
          )}
        </li>
      ))}
    </ul>
  );
}
