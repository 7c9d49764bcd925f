/** Text of others on the page: text nodes only, with what is hidden in it shown. */
import { splitTextFragments } from '../text/visible.ts';
import type { TextFragment } from '../text/visible.ts';

export function TextFragments({ pieces }: { readonly pieces: readonly TextFragment[] }) {
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

/** Which letters they are that may pass for others; of many the first ones. */
function nameOf(kind: TextFragment['kind'], text: string): string | undefined {
  if (kind !== 'foreign') return undefined;
  const codes = Array.from(text.slice(0, 16), (letter) =>
    (letter.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0'),
  );
  return codes.map((code) => `U+${code}`).join(' ');
}

/** A name, a path, a reason: in the direction it is stored in, nothing of it hidden. */
export function VisibleText({
  of,
  mono = false,
}: {
  readonly of: string;
  readonly mono?: boolean;
}) {
  return (
    <bdi class={mono ? 'text mono' : 'text'} dir="ltr">
      <TextFragments pieces={splitTextFragments(of)} />
    </bdi>
  );
}
