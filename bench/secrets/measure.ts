/** How many secrets a detector hides, and what else. */
import type { Corpus, Positive } from './corpus.ts';

/** Offsets `[start, end)` in UTF-16. */
export type Span = readonly [number, number];

/** @param cmd `null`: nobody says what printed the text. */
export type Find = (text: string, cmd: string | null) => Promise<readonly Span[]> | readonly Span[];

export interface Share {
  hits: number;
  all: number;
}

export interface Measured {
  /** Of the secrets, those of which at least 90 % of the characters are hidden. */
  readonly groups: ReadonlyMap<string, Share>;
  readonly kinds: ReadonlyMap<string, Share>;
  /** Of the spans that were found, in texts with and without secrets, those that touch one. */
  readonly precision: Share;
  /** Of the clean lines, those that were changed, by category. */
  readonly clean: ReadonlyMap<string, Share>;
  /** Secrets that stayed, and spans that touch none: one line each. */
  readonly misses: readonly string[];
}

const hiddenMin = 0.9;

/** @param commands Whether the detector is told what printed a text. */
export async function measure(corpus: Corpus, find: Find, commands: boolean): Promise<Measured> {
  const groups = new Map<string, Share>();
  const kinds = new Map<string, Share>();
  const clean = new Map<string, Share>();
  const precision: Share = { hits: 0, all: 0 };
  const misses: string[] = [];
  for (const one of corpus.positives) {
    const spans = await find(one.text, commands ? one.cmd : null);
    for (const secret of one.secret_spans) {
      const hidden = isHidden(secret, spans);
      count(groups, one.group, hidden);
      count(kinds, `${one.group} ${one.kind}`, hidden);
      if (!hidden) misses.push(`MISSED ${line(one, secret)}`);
    }
    for (const span of spans) {
      const touches = one.secret_spans.some(([start, end]) => span[0] < end && start < span[1]);
      precision.all += 1;
      if (touches) precision.hits += 1;
      else misses.push(`EXTRA  ${line(one, span)}`);
    }
  }
  for (const one of corpus.negatives) {
    const spans = await find(one.text, null);
    precision.all += spans.length;
    for (const span of spans) misses.push(`FALSE  ${line(one, span)}`);
  }
  for (const one of corpus.clean) {
    const [span] = await find(one.text, null);
    count(clean, one.kind, span !== undefined);
    if (span !== undefined) misses.push(`CLEAN  ${line(one, span)}`);
  }
  return { groups, kinds, precision, clean, misses };
}

function isHidden([start, end]: Span, spans: readonly Span[]): boolean {
  let hidden = 0;
  for (const [from, to] of spans) hidden += Math.max(0, Math.min(end, to) - Math.max(start, from));
  return hidden >= hiddenMin * (end - start);
}

function count(shares: Map<string, Share>, name: string, hit: boolean): void {
  const share = shares.get(name) ?? { hits: 0, all: 0 };
  shares.set(name, share);
  share.all += 1;
  if (hit) share.hits += 1;
}

export function sumOf(shares: Iterable<Share>): Share {
  const sum = { hits: 0, all: 0 };
  for (const { hits, all } of shares) {
    sum.hits += hits;
    sum.all += all;
  }
  return sum;
}

function line(one: Pick<Positive, 'kind' | 'text'>, [start, end]: Span): string {
  const shown = `${one.text.slice(Math.max(0, start - 60), start)}«${one.text.slice(start, end)}»`;
  return `${one.kind}: ${JSON.stringify(shown.slice(0, 200))}`;
}
