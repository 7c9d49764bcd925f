/** Text of others on the page: text nodes only, with what is hidden in it shown. */
import { piecesOf } from '../text/visible.ts';
import type { Piece } from '../text/visible.ts';

export function Pieces({ pieces }: { readonly pieces: readonly Piece[] }) {
  return (
    <>
      {pieces.map(({ kind, text, at }) =>
        kind === 'plain' ? (
          text
        ) : (
          <span key={at} class={kind} title={nameOf(kind, text)}>
            {text}
          </span>
        ),
      )}
    </>
  );
}

/** Which letter it is that may pass for another. */
function nameOf(kind: Piece['kind'], text: string): string | undefined {
  const code = (text.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
  return kind === 'foreign' ? `U+${code}` : undefined;
}

/** A name, a path, a reason: in the direction it is stored in, nothing of it hidden. */
export function Text({ of, mono = false }: { readonly of: string; readonly mono?: boolean }) {
  return (
    <bdi class={mono ? 'text mono' : 'text'} dir="ltr">
      <Pieces pieces={piecesOf(of)} />
    </bdi>
  );
}
