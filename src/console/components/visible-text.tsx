/** Untrusted text on the page: text nodes only, with hidden characters made visible. */
import { splitTextFragments } from '../text/visible.ts';
import type { TextFragment } from '../text/visible.ts';

export function TextFragments({ fragments }: { readonly fragments: readonly TextFragment[] }) {
  return (
    <>
      {fragments.map(({ kind, text, at }) =>
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

/** The letters that may be mistaken for others; of many the first ones. */
function nameOf(kind: TextFragment['kind'], text: string): string | undefined {
  if (kind !== 'foreign') return undefined;
  const codes = Array.from(text.slice(0, 16), (letter) =>
    (letter.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0'),
  );
  return codes.map((code) => `U+${code}`).join(' ');
}

/** A name, a path, a reason: in its stored direction, with nothing hidden. */
export function VisibleText({
  of,
  mono = false,
}: {
  readonly of: string;
  readonly mono?: boolean;
}) {
  return (
    <bdi class={mono ? 'text mono' : 'text'} dir="ltr">
      <TextFragments fragments={splitTextFragments(of)} />
    </bdi>
  );
}
