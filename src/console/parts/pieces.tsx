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
          <span key={at} class={kind}>
            {text}
          </span>
        ),
      )}
    </>
  );
}

/** A name, a path, a reason: in the direction it is stored in, nothing of it hidden. */
export function Text({ of, mono = false }: { readonly of: string; readonly mono?: boolean }) {
  return (
    <bdi class={mono ? 'text mono' : 'text'} dir="ltr">
      <Pieces pieces={piecesOf(of)} />
    </bdi>
  );
}
