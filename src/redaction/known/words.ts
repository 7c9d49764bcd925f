/** Which symbols are plain words, or hardly anything: they stand in texts that hold no secret. */
const letterFirst = 11;
const letterLast = 36;

/** Pairs of letters that make up most of English, of names in code and of addresses. */
const commonPairs = new Set(
  (
    'th he in er an re on at en nd ti es or te of ed is it al ar st to nt ng se ha as ou io le ' +
    've co me de hi ri ro ic ne ea ra ce li ch ll be ma si om ur ca el ta la ns di fo ho pe ec ' +
    'pr no ct us ac ot il tr ly nc et ut ss so rs un lo wa ge ie wh ee wi em ad ol rt po we na ' +
    'ul ni ts mo ow pa im mi ai sh ir su id os iv ia am fi ci vi pl ig tu ev ld ry mp fe bl ab ' +
    'gh ty op wo sa ay ex ke fr oo av ag if ap gr od bo sp rd do uc bu ei ov by rm ep tt oc fa'
  )
    .split(' ')
    .map((pair) => pairOf(symbolOf(pair.charCodeAt(0)), symbolOf(pair.charCodeAt(1)))),
);

function symbolOf(code: number): number {
  return code - 0x61 + letterFirst;
}
function pairOf(first: number, second: number): number {
  return first * 64 + second;
}

/** The share of pairs that must be common ones: a quarter of random pairs are. */
const commonShare = 0.64;
const digitsShare = 0.4;

/** Whether `text[from, to)` reads as words, with a number in it at most. */
export function wordlike(text: Uint8Array, from: number, to: number): boolean {
  let pairs = 0;
  let common = 0;
  let letters = 0;
  let runs = 0;
  for (let at = from; at < to; at += 1) {
    const symbol = text[at] ?? 0;
    const isLetter = symbol >= letterFirst && symbol <= letterLast;
    const before = at > from ? (text[at - 1] ?? 0) : 0;
    const afterLetter = before >= letterFirst && before <= letterLast;
    if (at > from && isLetter !== afterLetter) runs += 1;
    if (!isLetter) continue;
    letters += 1;
    if (!afterLetter) continue;
    pairs += 1;
    if (commonPairs.has(pairOf(before, symbol))) common += 1;
  }
  const length = to - from;
  if (letters < length * (1 - digitsShare) || runs > 2) return false;
  return pairs > 0 && common >= pairs * commonShare;
}

/** Whether at most two different symbols make up `text[from, to)`. */
export function monotonous(text: Uint8Array, from: number, to: number): boolean {
  const first = text[from];
  let second: number | undefined;
  for (let at = from + 1; at < to; at += 1) {
    const symbol = text[at];
    if (symbol === first || symbol === second) continue;
    if (second !== undefined) return false;
    second = symbol;
  }
  return true;
}
