/** Decides whether something may leave: checks each item against everything that is denied. */
import { createHmac, hash } from 'node:crypto';
import { canonicalJson } from '../canonical.ts';
import { limits } from '../limits.ts';
import { decodeItemInSteps, type DecodedPart } from './decode.ts';
import type { NameHit } from './denied-names.ts';
import { CanarySet, squeezeText } from './exact-patterns.ts';
import { PassageCollector, spanInItem } from './gate-passages.ts';
import {
  gateDecisions,
  type DisclosedVerdict,
  type GateDecision,
  type GateEvidence,
  type GateFinding,
  type GateInput,
  type GateItem,
  type GateVerdict,
  type UntracedFinding,
} from './publication.ts';

/** From this score on, what looks like a key is treated as one. */
const likelyScoreBlock = 0.9;
/** Exact rules search a text in windows of this size, in some milliseconds each. */
const pieceBytes = 256 * 1_024;
/** Longer than any search text. */
const overlapBytes = 8 * 1_024;
const textMax = 200;
/**
 * Checks for one part: a search of the original text takes long. Later hits are reported unchecked.
 */
const judgedMax = 256;
const turnedVias: ReadonlySet<string> = new Set(['rot13', 'reversed']);

/**
 * Decides by the strictest finding. Reports the 200 strictest findings, each once.
 *
 * The items are always scanned. That nobody could read denied content (`basis: 'non-interference'`)
 * says nothing about copies in places that everybody can read.
 *
 * @throws the reason of `signal`
 */
export async function checkPublication(input: GateInput): Promise<GateVerdict> {
  const canaries = new CanarySet(input.canaries);
  const found = new Findings(input.approved ?? new Set());
  let [items, bytes, apart] = [0, 0, true];
  for await (const item of input.items) {
    items += 1;
    bytes += item.bytes.length;
    apart &&= item.interference.kind === 'none';
    const digest = hash('sha256', item.bytes);
    for await (const one of findingsOf(item, canaries, input)) {
      found.add(one, findingTraceId(input.traceKey, identityOf(one, digest)));
    }
  }
  const findings = found.strictest();
  return {
    decision: findings[0]?.decision ?? 'pass',
    findings,
    basis: items > 0 && apart ? 'non-interference' : 'scan',
    items,
    bytes,
  };
}

/** The properties that a finding has in common with the same finding of an earlier check. */
function identityOf({ rule, name, score, evidence }: UntracedFinding, digest: string): object {
  const { source, span, lines, via } = evidence;
  return {
    rule,
    name: name.toWellFormed(),
    score,
    source: source.toWellFormed(),
    span,
    lines,
    via,
    digest,
  };
}

class Findings {
  readonly #approved: ReadonlySet<string>;
  readonly #byTrace = new Map<string, GateFinding>();

  constructor(approved: ReadonlySet<string>) {
    this.#approved = approved;
  }

  add({ name, decision, ...rest }: UntracedFinding, trace: string): void {
    const passes = decision === 'review' && this.#approved.has(trace);
    this.#byTrace.set(trace, { ...rest, item: name, decision: passes ? 'pass' : decision, trace });
    if (this.#byTrace.size <= 4 * limits.publicationFindings.max) return;
    const kept = this.strictest();
    this.#byTrace.clear();
    for (const one of kept) this.#byTrace.set(one.trace, one);
  }

  strictest(): readonly GateFinding[] {
    const order = (decision: GateDecision): number => -gateDecisions.indexOf(decision);
    return [...this.#byTrace.values()]
      .toSorted((a, b) => order(a.decision) - order(b.decision))
      .slice(0, limits.publicationFindings.default);
  }
}

async function* findingsOf(
  item: GateItem,
  canaries: CanarySet,
  input: GateInput,
): AsyncGenerator<UntracedFinding> {
  const { interference, path, name } = item;
  if (interference.kind === 'possible') {
    const decision = input.onInterference ?? 'pass';
    yield exact(name, { rule: 'interference', decision, source: interference.reason });
  }
  if (path !== null && input.isDenied(path)) {
    yield exact(name, { rule: 'denied.path', decision: 'block', source: path, via: ['name'] });
  } else {
    yield* namesIn(name, name, input);
  }
  const passages = new PassageCollector();
  const told = new Set<string>();
  let straight: Uint8Array | null = null;
  for (const part of decodeItemInSteps(item)) {
    input.signal?.throwIfAborted();
    // The search for the next part can take long, too.
    await input.yieldToEventLoop();
    if (part === null) continue;
    if (part.kind === 'unscannable') {
      const { reason: source, via, span } = part;
      yield exact(part.name, { rule: 'unscannable', decision: 'review', source, via, span });
      continue;
    }
    if (part.name !== name && !told.has(part.name)) yield* memberNames(part.name, name, input);
    told.add(part.name);
    const source = part.whole && part.bytes.length > 0 ? fileOf(part, input) : null;
    if (source !== null) {
      const { via, span } = part;
      yield exact(part.name, { rule: 'denied.file', decision: 'block', source, via, span });
    }
    if (!part.text) continue;
    for (const match of await input.match(part.bytes)) passages.add(match, part);
    yield* secretsIn(part, input, part.whole ? null : straight);
    if (part.whole) straight = part.bytes;
    yield* exactIn(part, canaries, input);
  }
  told.delete(name);
  yield* textOfNames(item, [...told], { canaries, passages, input });
  yield* passages.findings();
}

interface Searching {
  readonly canaries: CanarySet;
  readonly passages: PassageCollector;
  readonly input: GateInput;
}

/** A name leaves as any other text does. What it discloses as a path is reported separately. */
async function* textOfNames(
  { name }: GateItem,
  members: readonly string[],
  { canaries, passages, input }: Searching,
): AsyncGenerator<UntracedFinding> {
  const inner = members.map((member) => member.slice(name.length + 2)).join('\n');
  for (const [text, via] of [
    [name, 'name'],
    [inner, 'member names'],
  ] as const) {
    const bytes = Buffer.from(text, 'utf8');
    for (const opened of text === '' ? [] : decodeItemInSteps({ name, bytes })) {
      if (opened === null) await input.yieldToEventLoop();
      if (opened === null || opened.kind === 'unscannable' || !opened.text) continue;
      const part: DecodedPart = {
        ...opened,
        name,
        via: [via, ...opened.via],
        whole: false,
        span: null,
      };
      await input.yieldToEventLoop();
      for (const match of await input.match(part.bytes)) passages.add(match, part);
      // A digest in a name looks like a key.
      for await (const found of secretsIn(part, input, null)) {
        if (found.rule === 'secret.known') yield found;
      }
      for await (const found of exactIn(part, canaries, input)) {
        if (found.rule === 'canary') yield found;
      }
    }
  }
}

const fileOf = ({ bytes }: DecodedPart, { deniedFile }: GateInput): string | null =>
  deniedFile(hash('sha256', bytes));

interface Exact
  extends Pick<UntracedFinding, 'rule' | 'decision'>, Partial<Omit<GateEvidence, 'source'>> {
  readonly source: string;
}

const exact = (name: string, { rule, decision, ...evidence }: Exact): UntracedFinding => ({
  rule,
  decision,
  name,
  score: null,
  evidence: { span: null, lines: null, via: [], text: null, ...evidence },
});

/** The denied names in a name. */
function* namesIn(told: string, name: string, { names }: GateInput): Generator<UntracedFinding> {
  for (const hit of names.find(Buffer.from(told, 'utf8'))) {
    yield nameFinding(name, hit, { via: ['name'], text: told.slice(0, textMax).toWellFormed() });
  }
}

const nameFinding = (
  name: string,
  { name: source, decision }: NameHit,
  evidence: Partial<GateEvidence>,
): UntracedFinding => exact(name, { rule: 'denied.name', decision, source, ...evidence });

/** Prefixes of the paths in archives of packages, and in source maps of bundlers. */
const before = /^(?:[a-z][a-z+.-]*:\/\/[^/]*\/)?(?:\.{0,2}\/)*/;

function* memberNames(full: string, item: string, input: GateInput): Generator<UntracedFinding> {
  const member = full.slice(item.length + 2);
  yield* namesIn(member, full, input);
  const path = member.slice(member.lastIndexOf('!/') + 1).replace(before, '');
  const below = path.slice(path.indexOf('/') + 1);
  const source = [path, below].find((one) => one !== '' && input.isDenied(one));
  if (source !== undefined) {
    // An unrelated archive can have the same path.
    yield exact(full, { rule: 'denied.path', decision: 'review', source, via: ['name'] });
  }
}

/** @param original the text that this part is a filtered view of; `null`: it is none */
async function* secretsIn(
  part: DecodedPart,
  { findSecrets }: GateInput,
  straight: Uint8Array | null,
): AsyncGenerator<UntracedFinding> {
  const told = new Set<string>();
  const text = straight && Buffer.from(straight.buffer, straight.byteOffset, straight.length);
  let looks = 0;
  for (const hit of await findSecrets(part.bytes)) {
    const { name: source, kind, span, score } = hit;
    if (hit.bare === true && text !== null && looks < judgedMax) {
      looks += 1;
      if (isJudged(part, span, text)) continue;
    }
    if (told.has(`${kind} ${source}`)) continue;
    told.add(`${kind} ${source}`);
    const decision = kind === 'known' || score >= likelyScoreBlock ? 'block' : 'review';
    const rule = kind === 'known' ? 'secret.known' : 'secret.likely';
    const evidence = { source, via: part.via, span: spanInItem(part, span) };
    yield exact(part.name, { rule, decision, ...evidence });
  }
}

/**
 * Whether the original text contains what a view shows. Its surroundings there decide already
 * whether it is a secret. Filtered words, in contrast, look as mixed as keys.
 */
function isJudged(
  { bytes, via }: DecodedPart,
  span: readonly [number, number],
  straight: Buffer,
): boolean {
  const last = via.at(-1) ?? '';
  return turnedVias.has(last) || straight.includes(Buffer.from(bytes.subarray(...span)));
}

/** Names and canaries. */
async function* exactIn(
  part: DecodedPart,
  canaries: CanarySet,
  { names, yieldToEventLoop: turn }: GateInput,
): AsyncGenerator<UntracedFinding> {
  const told = new Set<string>();
  const isNew = (what: string): boolean => !told.has(what) && told.add(what).size > 0;
  for (let from = 0; from < part.bytes.length; from += pieceBytes) {
    if (from > 0) await turn();
    const bytes = part.bytes.subarray(from, from + pieceBytes + overlapBytes);
    const squeezed = canaries.isEmpty ? null : squeezeText(bytes);
    const place = (span: readonly [number, number]): Partial<GateEvidence> => ({
      via: part.via,
      span: spanInItem(part, [from + span[0], from + span[1]]),
    });
    for (const { index, span } of squeezed === null ? [] : canaries.find(squeezed)) {
      const source = `canary ${index + 1}`;
      const finding = { rule: 'canary', decision: 'block', source, ...place(span) } as const;
      if (isNew(source)) yield exact(part.name, finding);
    }
    for (const hit of names.find(bytes, squeezed)) {
      if (!isNew(`name ${hit.name}`)) continue;
      const text = Buffer.from(bytes.subarray(...hit.span))
        .toString('utf8')
        .slice(0, textMax);
      yield nameFinding(part.name, hit, { ...place(hit.span), text: text.toWellFormed() });
    }
  }
}

const memberMark = '!/';

/**
 * What a caller who must not see denied content gets: rule, decision and id of each finding, and
 * the item; no members of the item, and no name that is itself a disclosure.
 */
export function withoutEvidence(verdict: GateVerdict): DisclosedVerdict {
  const top = (item: string): string => item.split(memberMark, 1)[0] ?? item;
  const telling = new Set(
    verdict.findings
      .filter(({ item, evidence }) => evidence.via[0] === 'name' && !item.includes(memberMark))
      .map(({ item }) => item),
  );
  return {
    ...verdict,
    findings: verdict.findings.map(({ rule, decision, trace, item }) => ({
      rule,
      decision,
      trace,
      item: telling.has(top(item)) ? null : top(item),
    })),
  };
}

/**
 * The same finding in the same bytes has the same id, so that an approval covers it in later
 * checks. Without the key, an id says nothing.
 *
 * @param key at least 16 bytes, known only to the daemon
 */
export function findingTraceId(key: Uint8Array, finding: object): string {
  const id = createHmac('sha256', key).update(canonicalJson(finding)).digest('hex');
  return `t-${id.slice(0, 16)}`;
}
