/** A unified diff, file by file. */
import type { DiffFile, WorkspaceDiff } from '../../client/index.ts';
import { parseDiff } from '../text/diff.ts';
import type { DiffLine, FileDiff } from '../text/diff.ts';
import { piecesOf, visible } from '../text/visible.ts';
import { Pieces, Text } from './pieces.tsx';

const signs = { same: ' ', added: '+', removed: '−', note: ' ' } as const;

export function Diff({ of }: { readonly of: WorkspaceDiff }) {
  const states = new Map(of.files.map(({ path, state }) => [path, state]));
  return (
    <div class="diff">
      {parseDiff(of.diff).map((file, index) => (
        <File key={index} file={file} state={states.get(file.path) ?? 'applied'} />
      ))}
    </div>
  );
}

interface FileProps {
  readonly file: FileDiff;
  readonly state: DiffFile['state'];
}

function File({ file, state }: FileProps) {
  const lines = file.hunks.flatMap((hunk) => hunk.lines);
  const count = (kind: DiffLine['kind']): number =>
    lines.filter((line) => line.kind === kind).length;
  return (
    <section class="file" aria-label={`Changes of ${visible(file.path)}`}>
      <h3>
        <Text of={file.path} mono />
        {state !== 'applied' && <span class="pill ask">{state}</span>}
        <span class="plus">+{count('added')}</span>
        <span class="minus">−{count('removed')}</span>
      </h3>
      {file.notes.map((note, index) => (
        <p class="quiet mono" key={index}>
          <Text of={note} mono />
        </p>
      ))}
      {file.hunks.map((hunk, index) => (
        <div class="hunk" key={index}>
          {hunk.lines.map((line, at) => (
            <div class={`row ${line.kind}`} key={at}>
              <span class="number">{line.before ?? ''}</span>
              <span class="number">{line.after ?? ''}</span>
              <span class="sign">{signs[line.kind]}</span>
              <code>
                <Pieces pieces={piecesOf(line.text)} />
              </code>
            </div>
          ))}
        </div>
      ))}
    </section>
  );
}
