/**
 * Text that a simple filter changed: its letters are moved by 13 places (rot13), or its lines are
 * reversed (`rev`). A view has the parts of a text that look more like language after the filter is
 * undone.
 */
import { reverseText, rotateLetters } from '../encodings/text.ts';

export interface ObfuscatedText {
  readonly bytes: Uint8Array;
  readonly via: 'rot13' | 'reversed';
  readonly span: readonly [number, number];
}

/** The most frequent pairs in English and in programs, and punctuation with the blank after it. */
const usual = (
  'th he in er an re on at en nd st es ed te ti or ar ng al it as is ' +
  'ha et se ou of le ve me de ro co ur ri io ea ra ce li ch ll be ma si om ct tu rn fu un nc ' +
  'ta lo ex po fi ns pr el ow wh mo id ,_ ;_ :_ ._'
).split(' ');
/** Letters in either case are 1 to 26, then the punctuation in `usual`; everything else is 0. */
const codes = Uint8Array.from({ length: 256 }, (_, code) => {
  const letter = code | 32;
  if (letter >= 97 && letter <= 122 && code >= 65) return letter - 96;
  const mark = ',;:. '.indexOf(String.fromCharCode(code));
  return mark < 0 ? 0 : 27 + mark;
});
const space = 31;
const codeOf = (char: string): number => (char === '_' ? space : (codes[char.charCodeAt(0)] ?? 0));
const turn = (code: number): number => {
  if (code < 1 || code > 26) return code;
  return code > 13 ? code - 13 : code + 13;
};
const pairOf = (one: number, two: number): number => (one << 5) | two;

const kinds = [
  {
    via: 'rot13',
    back: (line: string) => rotateLetters(line, 13),
    pair: (one: number, two: number) => pairOf(turn(one), turn(two)),
  },
  { via: 'reversed', back: reverseText, pair: (one: number, two: number) => pairOf(two, one) },
] as const;
/** By pair of codes: how much more usual the pair is after the filter is undone. */
const gains = kinds.map(({ pair }) => {
  const table = new Int8Array(1 << 10);
  for (const [one = '', two = ''] of usual) {
    const [a, b] = [codeOf(one), codeOf(two)];
    table[pairOf(a, b)] = (table[pairOf(a, b)] ?? 0) - 1;
    table[pair(a, b)] = (table[pair(a, b)] ?? 0) + 1;
  }
  return table;
});
/** Passages of denied files have at least as many characters. */
const lettersMin = 48;
/** The least gain of a part. Unfiltered text reaches less by chance. */
const gainMin = 4;

/** At most one view of each kind, with the parts that gain by it. */
export function* findObfuscatedTexts(text: string): Generator<ObfuscatedText> {
  if (text.length < lettersMin) return;
  for (const [kind, { via, back }] of kinds.entries()) {
    const stretches = stretchesOf(text, gains[kind] ?? new Int8Array());
    const lines = stretches.flatMap(([from, to]) => text.slice(from, to).split('\n').map(back));
    const restored = lines.join('\n');
    if (restored.length < lettersMin) continue;
    const span = [stretches[0]?.[0] ?? 0, stretches.at(-1)?.[1] ?? 0] as const;
    yield { bytes: Buffer.from(restored, 'latin1'), via, span };
    // `tac | rev` also reverses the order of the lines.
    if (via !== 'reversed' || lines.length < 2) continue;
    yield { bytes: Buffer.from(lines.toReversed().join('\n'), 'latin1'), via, span };
  }
}

/** Lines in a row that gain: from the first that does to the one where the sum is highest. */
function stretchesOf(text: string, gain: Int8Array): (readonly [number, number])[] {
  const found: (readonly [number, number])[] = [];
  let [start, best, bestEnd, sum] = [0, 0, 0, 0];
  const close = (): void => {
    if (best >= gainMin) found.push([start, bestEnd]);
    [best, sum] = [0, 0];
  };
  for (let from = 0; from < text.length;) {
    const newline = text.indexOf('\n', from);
    const end = newline < 0 ? text.length : newline;
    const line = gainOf(text, gain, from, end);
    if (sum <= 0) {
      close();
      start = from;
    }
    sum += line;
    if (sum > best) [best, bestEnd] = [sum, end];
    else if (sum < best - gainMin) {
      close();
    }
    from = end + 1;
  }
  close();
  return found;
}

function gainOf(text: string, gain: Int8Array, from: number, to: number): number {
  let sum = 0;
  let before = 0;
  for (let at = from; at < to; at += 1) {
    const code = codes[text.charCodeAt(at)] ?? 0;
    sum += gain[(before << 5) | code] ?? 0;
    before = code;
  }
  return sum;
}
