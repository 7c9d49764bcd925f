/**
 * Text that a simple filter rewrote: its letters turned by 13 places (rot13), its lines written
 * backwards (`rev`). A view holds the lines that read better turned back.
 */

export interface Turned {
  readonly bytes: Uint8Array;
  readonly via: 'rot13' | 'reversed';
  readonly span: readonly [number, number];
}

/** Pairs of letters that words of English and of programs have most. */
const usual = (
  'th he in er an re on at en nd st es ed te ti or ar ng al it as is ' +
  'ha et se ou of le ve me de ro co ur ri io ea ra ce li ch ll be ma si om ct tu rn fu un nc ' +
  'ta lo ex po fi ns pr el ow wh mo id'
).split(' ');
const pairOf = (one: number, two: number): number => (one << 5) | two;
const letterAt = (text: string, at: number): number => {
  const code = text.charCodeAt(at) | 32;
  return code >= 97 && code <= 122 ? code - 96 : 0;
};
const turn = (letter: number): number => (letter > 13 ? letter - 13 : letter + 13);
const tableOf = (change: (one: number, two: number) => number): Uint8Array => {
  const table = new Uint8Array(1 << 10);
  for (const pair of usual) table[change(letterAt(pair, 0), letterAt(pair, 1))] = 1;
  return table;
};
const plain = tableOf(pairOf);
const kinds = [
  { via: 'rot13', table: tableOf((one, two) => pairOf(turn(one), turn(two))), back: rot13 },
  { via: 'reversed', table: tableOf((one, two) => pairOf(two, one)), back: reversed },
] as const;
/** Fewer characters than a passage of a denied file has. */
const lettersMin = 48;

/** At most one view of each kind; what is no better turned back is in none. */
export function* turnedOf(text: string): Generator<Turned> {
  if (text.length < lettersMin) return;
  const lines = text.split('\n');
  const scores = lines.map((line) => scoreOf(line));
  for (const [kind, { via, back }] of kinds.entries()) {
    const turned: string[] = [];
    let [from, to, at] = [-1, 0, 0];
    for (const [number, line] of lines.entries()) {
      const [forward = 0, ...others] = scores[number] ?? [];
      const other = others[kind] ?? 0;
      if (other > 0 && other >= forward) {
        turned.push(back(line));
        if (from < 0) from = at;
        to = at + line.length;
      }
      at += line.length + 1;
    }
    const said = turned.join('\n');
    if (said.length < lettersMin) continue;
    yield { bytes: Buffer.from(said, 'latin1'), via, span: [from, to] };
    // `tac | rev` turns the order of the lines, too.
    if (via !== 'reversed' || turned.length < 2) continue;
    const last = turned.toReversed().join('\n');
    yield { bytes: Buffer.from(last, 'latin1'), via, span: [from, to] };
  }
}

/** Usual pairs as it stands, and as each kind would have them. */
function scoreOf(line: string): readonly number[] {
  const counts = [0, 0, 0];
  let before = 0;
  for (let at = 0; at < line.length; at += 1) {
    const letter = letterAt(line, at);
    if (letter > 0 && before > 0) {
      const pair = pairOf(before, letter);
      counts[0] = (counts[0] ?? 0) + (plain[pair] ?? 0);
      for (const [kind, { table }] of kinds.entries()) {
        counts[kind + 1] = (counts[kind + 1] ?? 0) + (table[pair] ?? 0);
      }
    }
    before = letter;
  }
  return counts;
}

function rot13(line: string): string {
  return line.replaceAll(/[A-Za-z]/g, (letter) => {
    const code = letter.charCodeAt(0);
    return String.fromCharCode((code & 31) > 13 ? code - 13 : code + 13);
  });
}

function reversed(line: string): string {
  return Array.from(line).toReversed().join('');
}
