/** How fast detectors are, on the clean lines of a corpus in an order drawn with a fixed seed. */
import { Detector } from '../../src/redaction/detect/detector.ts';
import type { RedactionProfile } from '../../src/redaction/secret-finding.ts';
import type { Clean } from './corpus.ts';
import { secretlint } from './finders.ts';

export interface Speed {
  /** Megabytes (10^6) a second of processor time. */
  readonly rate: number;
  /** Longest time for one block of 64 KiB, in `ms`. */
  readonly worst: number;
}

const blockBytes = 64 * 1024;
const pieceBytes = 8 * 1024;
/** Lines that are full of hashes; the rest is what commands usually print. */
const hashes =
  /sum|git_(?:objects|refs|raw|pretty|lstree)|lock|pem|x509|xxd|od$|hexdump|objdump|nm|base64|ids/u;

/** @returns Whole lines, `mega` megabytes of them. */
export function textOf(clean: readonly Clean[], kind: 'ordinary' | 'hashes', mega: number): Buffer {
  const lines = clean
    .filter((one) => hashes.test(one.kind) === (kind === 'hashes'))
    .map(({ text }) => `${text}\n`);
  const parts: string[] = [];
  let seed = 1;
  for (let length = 0; length < mega * 1e6 && lines.length > 0;) {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fffffff;
    const line = lines[seed % lines.length] ?? '\n';
    parts.push(line);
    length += line.length;
  }
  return Buffer.from(parts.join(''), 'utf8');
}

/** The best of three passes. */
export function speedOf(text: Buffer, profile: RedactionProfile): Speed {
  const blocks = blocksOf(text);
  let best: Speed = { rate: 0, worst: Infinity };
  for (let pass = 0; pass < 3; pass++) {
    const detector = new Detector({ profile, prior: 'none' });
    const { user } = process.cpuUsage();
    let worst = 0;
    for (const block of blocks) {
      const begun = performance.now();
      detector.scan(block.toString('latin1'), block);
      worst = Math.max(worst, performance.now() - begun);
    }
    const rate = text.length / (process.cpuUsage().user - user);
    best = { rate: Math.max(best.rate, rate), worst: Math.min(best.worst, worst) };
  }
  return best;
}

/** One line of 1 MB without an end, in pieces of 8 KiB: `ms`, the worst of a few kinds of text. */
export function longLine(profile: RedactionProfile): number {
  const units = ['a', 'key=', 'password: ', 'aB3', '://a:b@', 'token token ', '{"key":"', '='];
  let worst = 0;
  for (const unit of units) {
    const line = Buffer.from(unit.repeat(Math.ceil(1e6 / unit.length)), 'latin1');
    const detector = new Detector({ profile, prior: 'none' });
    const begun = performance.now();
    for (let at = 0; at < line.length; at += pieceBytes) {
      const piece = line.subarray(at, at + pieceBytes);
      detector.scan(piece.toString('latin1'), piece);
    }
    worst = Math.max(worst, performance.now() - begun);
  }
  return worst;
}

export async function speedOfSecretlint(text: Buffer): Promise<number> {
  const { user } = process.cpuUsage();
  for (const block of blocksOf(text)) await secretlint(block.toString('utf8'), null);
  return text.length / (process.cpuUsage().user - user);
}

function blocksOf(text: Buffer): Buffer[] {
  const blocks: Buffer[] = [];
  for (let at = 0; at < text.length;) {
    const feed = text.lastIndexOf(10, Math.min(text.length, at + blockBytes) - 1);
    const end = feed < at ? text.length : feed + 1;
    blocks.push(text.subarray(at, end));
    at = end;
  }
  return blocks;
}
