// npm run prove: what the rules and recognisers cost on lines made to be slow, by CPU time. Ten
// shapes of 20 kB for each rule, of its literals and characters; least of three tries.
import { parseShape } from '../../src/redaction/rules/key-shape.ts';
import { SecretRuleSet } from '../../src/redaction/rules/rule-set.ts';
import { shippedRules } from '../../src/redaction/rules/shipped-rules.ts';
import { recogniseToken } from '../../src/redaction/recognise/recognise-token.ts';
import { draw, seeded } from '../support/redaction-draw.ts';

const size = 20_000;
const ceilingMs = 6;
const shipped = SecretRuleSet.shipped();
const random = seeded(1);

interface Cost {
  readonly rule: string;
  readonly shape: number;
  readonly ms: number;
  readonly line: string;
}

const costs: Cost[] = [];
for (const { id, near, shapes } of shippedRules) {
  for (const notation of shapes) {
    const words = near.length > 0 ? near.slice(0, 3) : parseShape(notation).keywords.slice(0, 3);
    for (const word of words) {
      for (const [shape, line] of hostile(word, draw(notation, random).text).entries()) {
        costs.push({ rule: `${id} ${notation}`, shape, ms: leastMs(line, 3), line });
      }
    }
  }
}
costs.sort((one, other) => other.ms - one.ms);
for (const { rule, shape, ms } of costs.slice(0, 15)) {
  say(`${ms.toFixed(2)} ms shape ${shape} ${rule}`);
}
// A collection of garbage within one try is no cost of the line: the slow ones are tried again.
const over = costs
  .slice(0, 60)
  .filter(({ line, ms }) => ms > ceilingMs && leastMs(line, 20) > ceilingMs);

const tokens = [
  'a=',
  '/a',
  'a-',
  'A1',
  '0:',
  '..',
  '::h',
  'eyJ',
  '_Z',
  'sha1:',
  '0.',
  'a1b2',
  'Ab',
];
let worst = 0;
for (const piece of tokens) {
  const text = piece.repeat(size / piece.length);
  const began = process.cpuUsage();
  for (let at = 0; at < 20; at += 1) {
    recogniseToken(text, at * 100, text.length, { start: 0, end: size });
  }
  const { user, system } = process.cpuUsage(began);
  worst = Math.max(worst, (user + system) / 20_000);
}
say(`\n${costs.length} lines of ${size} bytes, ${over.length} over ${ceilingMs} ms`);
say(`a token of ${size} characters is recognised or not in at most ${worst.toFixed(3)} ms`);
process.exitCode = over.length > 0 || worst > 1 ? 1 : 0;

function hostile(word: string, token: string): string[] {
  const many = (piece: string): string =>
    piece.repeat(Math.ceil(size / piece.length)).slice(0, size);
  const cut = token.slice(0, Math.max(1, token.length - 1));
  return [
    many(word),
    many(`${word} `),
    many(`${word}-`),
    word + many('a'),
    word + many('A1b2'),
    many(`${cut}~`),
    many(`${cut} `),
    many(`-${cut}`),
    many(`${token} `),
    many(`${word} key `),
    many(token.replaceAll(/[A-Za-z0-9]{4}/g, 'xxxx')),
    many(`${word}.${'a1'.repeat(200)}.`),
  ];
}

function leastMs(line: string, tries: number): number {
  const bytes = Buffer.from(line, 'latin1');
  let least = Infinity;
  for (let at = 0; at < tries; at += 1) {
    const began = process.cpuUsage();
    shipped.find(line, bytes, 0, bytes.length);
    const { user, system } = process.cpuUsage(began);
    least = Math.min(least, (user + system) / 1000);
  }
  return least;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
