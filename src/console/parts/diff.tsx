/** A unified diff, file by file. */
import { parseDiff } from '../text/diff.ts';
import type { DiffLine, FileDiff } from '../text/diff.ts';
import { piecesOf } from '../text/visible.ts';
import { Pieces, Text } from './pieces.tsx';

const signs = { same: ' ', added: '+', removed: '−', note: ' ' } as const;

export function Diff({ text }: { readonly text: string }) {
  return (
    <div class="diff">
      {parseDiff(text).map((file, index) => (
        <File key={index} file={file} />
      ))}
    </div>
  );
}

function File({ file }: { readonly file: FileDiff }) {
  const lines = file.hunks.flatMap((hunk) => hunk.lines);
  const count = (kind: DiffLine['kind']): number =>
    lines.filter((line) => line.kind === kind).length;
  return (
    <section class="file" aria-label={`Changes of ${file.path}`}>
      <h3>
        <Text of={file.path} mono />
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
