/**
 * How well unknown secrets are found: `npm run bench:secrets -- [--corpus DIR] [--profile P]
 * [--misses] [--kinds] [--no-peers] [--no-speed]`. Reads `secrets-positives`, `secrets-negatives`
 * and `clean-output` (`.jsonl` or `.jsonl.gz`) of DIR, by default test/fixtures/secrets. Each text
 * has a detector of its own: once without its command, once with it. Exit code 1 where a target is
 * missed. A benchmark prints made-up secrets; nothing here is one.
 */
import path from 'node:path';
import { parseArgs } from 'node:util';
import { redactionProfileNames, type RedactionProfile } from '../src/redaction/secret-finding.ts';
import { readCorpus, type Corpus } from './secrets/corpus.ts';
import { ours, secretlint } from './secrets/finders.ts';
import { measure, sumOf, type Measured, type Share } from './secrets/measure.ts';
import { longLine, speedOf, speedOfSecretlint, textOf } from './secrets/speed.ts';

/** Least share of secrets hidden, by group. */
const targets: ReadonlyMap<string, number> = new Map([
  ['known', 0.97],
  ['contextual', 0.93],
  ['structured', 0.92],
  ['novel-keyed', 0.92],
  ['novel-header', 0.92],
  ['novel-bare', 0.45],
  ['password', 0.75],
]);
/** Of bare tokens where the command is known to print secrets. */
const bareWithCommand = 0.75;
const precisionMin = 0.97;
/** Changed lines of 1,000: of all, and of any category. */
const changedMax = 1;
const changedOfKindMax = 10;

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      corpus: { type: 'string' },
      profile: { type: 'string', default: 'balanced' },
      misses: { type: 'boolean', default: false },
      kinds: { type: 'boolean', default: false },
      'no-peers': { type: 'boolean', default: false },
      'no-speed': { type: 'boolean', default: false },
    },
  });
  const profile = redactionProfileNames.find((one) => one === values.profile);
  if (profile === undefined) throw new Error(`Unknown profile "${values.profile}"`);
  const root = path.dirname(import.meta.dirname);
  const corpus = readCorpus(values.corpus ?? path.join(root, 'test/fixtures/secrets'));
  const alone = await measure(corpus, ours(profile), false);
  const told = await measure(corpus, ours(profile), true);
  const peer = values['no-peers'] ? null : await measure(corpus, secretlint, false);
  const failures: string[] = [];
  showGroups({ alone, told, peer }, failures);
  showTotals({ alone, told, peer }, failures);
  if (values.kinds) showKinds(alone, peer);
  if (values.misses) alone.misses.forEach(say);
  if (!values['no-speed']) await showSpeed(corpus, profile, peer !== null);
  for (const failure of failures) say(`missed: ${failure}`);
  return failures.length > 0 ? 1 : 0;
}

interface Columns {
  readonly alone: Measured;
  readonly told: Measured;
  readonly peer: Measured | null;
}

function showGroups({ alone, told, peer }: Columns, failures: string[]): void {
  say('secrets with at least 90 % of their characters hidden');
  say(`${'group'.padEnd(16)}${cells(['found', 'with cmd', 'secretlint', 'target', 'count'])}`);
  for (const [group, share] of alone.groups) {
    const known = told.groups.get(group);
    const target = targets.get(group);
    const row = [ratio(share), ratio(known), ratio(peer?.groups.get(group))];
    say(`${group.padEnd(16)}${cells([...row, target?.toFixed(2) ?? '', String(share.all)])}`);
    if (target !== undefined && rateOf(share) < target) failures.push(`${group} ${ratio(share)}`);
    if (group === 'novel-bare' && rateOf(told.groups.get(group)) < bareWithCommand) {
      failures.push(`${group} with the command known ${ratio(known)}`);
    }
  }
  const all = (one: Measured | null): string =>
    ratio(one === null ? undefined : sumOf(one.groups.values()));
  say(`${'all'.padEnd(16)}${cells([all(alone), all(told), all(peer)])}`);
}

function showTotals({ alone, told, peer }: Columns, failures: string[]): void {
  const columns = [alone, told, peer];
  const precision = columns.map((one) => ratio(one?.precision, 4));
  say(`${'precision'.padEnd(16)}${cells([...precision, precisionMin.toFixed(2)])}`);
  const changed = columns.map((one) =>
    thousand(one === null ? undefined : sumOf(one.clean.values())),
  );
  say(`${'clean changed'.padEnd(16)}${cells([...changed, String(changedMax)])} of 1,000 lines`);
  const exact = rateOf(alone.precision) >= precisionMin;
  if (!exact) failures.push(`precision ${ratio(alone.precision, 4)}`);
  const clean = sumOf(alone.clean.values());
  if (clean.hits * 1000 > changedMax * clean.all) failures.push(`clean lines ${thousand(clean)}`);
  for (const [kind, share] of alone.clean) {
    if (share.hits === 0) continue;
    say(`  ${kind.padEnd(14)}${cells([thousand(share)])} of 1,000`);
    if (share.hits * 1000 > changedOfKindMax * share.all) {
      failures.push(`clean lines of ${kind} ${thousand(share)}`);
    }
  }
}

function showKinds(alone: Measured, peer: Measured | null): void {
  say(`\n${'kind'.padEnd(52)}${cells(['found', 'secretlint', 'count'])}`);
  for (const [kind, share] of [...alone.kinds].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const other = ratio(peer?.kinds.get(kind));
    say(`${kind.padEnd(52)}${cells([ratio(share), other, String(share.all)])}`);
  }
}

async function showSpeed(corpus: Corpus, profile: RedactionProfile, peers: boolean): Promise<void> {
  for (const kind of ['ordinary', 'hashes'] as const) {
    const text = textOf(corpus.clean, kind, 12);
    if (text.length === 0) continue;
    const { rate, worst } = speedOf(text, profile);
    say(`${kind}: ${rate.toFixed(0)} MB/s, worst block of 64 KiB ${worst.toFixed(1)} ms`);
    if (!peers) continue;
    const other = await speedOfSecretlint(text.subarray(0, 4e6));
    say(`${kind}: secretlint ${other.toFixed(1)} MB/s`);
  }
  say(`worst line of 1 MB: ${longLine(profile).toFixed(0)} ms`);
}

function rateOf(share: Share | undefined): number {
  return share === undefined || share.all === 0 ? 1 : share.hits / share.all;
}

function ratio(share: Share | undefined, digits = 3): string {
  return share === undefined || share.all === 0 ? '-' : (share.hits / share.all).toFixed(digits);
}

function thousand(share: Share | undefined): string {
  return share === undefined || share.all === 0
    ? '-'
    : ((share.hits * 1000) / share.all).toFixed(2);
}

function cells(texts: readonly string[]): string {
  return texts.map((text) => text.padStart(11)).join('');
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

// secretlint leaves a performance mark for each step of each text, and Node warns of a million.
process.removeAllListeners('warning');
process.exitCode = await main();
