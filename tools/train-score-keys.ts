/** Keys that nobody has given out, for training the score: alphabets, lengths, prefixes, places. */

export interface Maker {
  readonly name: string;
  readonly alphabet: string;
  readonly lengths: readonly number[];
}

const upper = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ';
const lower = upper.toLowerCase();
const digits = '0123456789';
const usual = [16, 18, 20, 22, 24, 28, 30, 32, 33, 36, 40, 43, 44, 48, 50, 52, 56, 60, 64];

export const makers: readonly Maker[] = [
  { name: 'base62', alphabet: upper + lower + digits, lengths: usual },
  { name: 'base64', alphabet: `${upper}${lower}${digits}+/`, lengths: usual },
  { name: 'base64url', alphabet: `${upper}${lower}${digits}-_`, lengths: usual },
  { name: 'base58', alphabet: (upper + lower + digits).replaceAll(/[0OIl]/gu, ''), lengths: usual },
  { name: 'base36', alphabet: lower + digits, lengths: usual },
  { name: 'upper-digit', alphabet: upper + digits, lengths: usual },
  { name: 'base32', alphabet: `${upper}234567`, lengths: [16, 20, 24, 26, 32, 40, 52, 56, 64] },
  { name: 'base32-lower', alphabet: `${lower}234567`, lengths: [20, 24, 26, 32, 40, 52, 56, 64] },
  {
    name: 'crockford',
    alphabet: '0123456789ABCDEFGHJKMNPQRSTVWXYZ',
    lengths: [20, 24, 32, 40, 52],
  },
  { name: 'hex', alphabet: '0123456789abcdef', lengths: [20, 24, 30, 36, 44, 48, 50, 60] },
  { name: 'hex-upper', alphabet: '0123456789ABCDEF', lengths: [20, 24, 32, 36, 40, 48, 64] },
  { name: 'letters', alphabet: upper + lower, lengths: usual },
];

const words = `sk pk rk key tok tkn api live test prod dev app usr org pat at rt svc srv int ext db
  cli web hub lab nova zeta flux orb kite mint bolt peak dawn rift vault relay pulse atlas`.split(
  /\s+/u,
);
const signs = ['_', '-', '.', ':', '::', '~', '_', '_', '-'];

/** One key in two has a prefix: `sk_live_`, `x7-`, `orb:`, `acme.`. */
export function keysOf({ alphabet, lengths }: Maker, count: number, next: () => number): string[] {
  const pick = <T>(list: readonly T[]): T | undefined => list[Math.floor(next() * list.length)];
  const keys: string[] = [];
  while (keys.length < count) {
    let key = '';
    const length = pick(lengths) ?? 32;
    while (key.length < length) key += alphabet.charAt(Math.floor(next() * alphabet.length));
    if (next() < 0.06 && alphabet.includes('+')) key += '='.repeat(1 + Math.floor(next() * 2));
    keys.push(next() < 0.5 ? key : prefix() + key);
  }
  return keys;

  function prefix(): string {
    const sign = pick(signs) ?? '_';
    let text = (next() < 0.6 ? pick(words) : made()) ?? '';
    if (next() < 0.4) text += sign + (pick(words) ?? '');
    if (next() < 0.1) text += `${sign}v${Math.floor(next() * 4)}`;
    return text + sign;
  }

  function made(): string {
    let text = '';
    const length = 2 + Math.floor(next() * 4);
    while (text.length < length) text += lower.charAt(Math.floor(next() * 26));
    return next() < 0.3 ? text + Math.floor(next() * 10) : text;
  }
}

/** `%` is where the key stands. */
export const places: readonly string[] = `
%
%
%
"%"
"%"
'%'
    %
  "%",
> %
- %
Logged in with % as bot
using % for the request
got % from the server
Welcome! %
the token is now %.
New key: %
created %
value %
result: %
[%]
(%)
<%>
cp % backup
echo %
login(%)
X=%
id %
found "%" in line 3
cookie %; path
`
  .split('\n')
  .filter((line) => line !== '');

/** mulberry32. */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}
