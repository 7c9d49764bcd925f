/** Decides whether something may leave: checks each item against everything that is denied. */
import { createHmac, hash } from 'node:crypto';
import { canonicalJson } from '../canonical.ts';
import { limits } from '../limits.ts';
import { decodeItemInSteps } from './decode.ts';
import type { DecodedPart } from './decode-part.ts';
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
const windowBytes = 256 * 1_024;
/** Longer than any search text. */
const overlapBytes = 8 * 1_024;
const textMax = 200;
/**
 * Checks for one part: a search of the original text takes long. Later hits are reported unchecked.
 */
const checksMax = 256;
const filterVias: ReadonlySet<string> = new Set(['rot13', 'reversed']);

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
    const strictest = this.strictest();
    this.#byTrace.clear();
    for (const one of strictest) this.#byTrace.set(one.trace, one);
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
    yield exactFinding(name, { rule: 'interference', decision, source: interference.reason });
  }
  if (path !== null && input.isDenied(path)) {
    yield exactFinding(name, {
      rule: 'denied.path',
      decision: 'block',
      source: path,
      via: ['name'],
    });
  } else {
    yield* namesIn(name, name, input);
  }
  const passages = new PassageCollector();
  const reported = new Set<string>();
  let original: Uint8Array | null = null;
  for (const part of decodeItemInSteps(item)) {
    input.signal?.throwIfAborted();
    // The search for the next part can take long, too.
    await input.yieldToEventLoop();
    if (part === null) continue;
    if (part.kind === 'unscannable') {
      const { reason: source, via, span } = part;
      yield exactFinding(part.name, { rule: 'unscannable', decision: 'review', source, via, span });
      continue;
    }
    if (part.name !== name && !reported.has(part.name)) yield* memberNames(part.name, name, input);
    reported.add(part.name);
    const source = part.whole && part.bytes.length > 0 ? fileOf(part, input) : null;
    if (source !== null) {
      const { via, span } = part;
      yield exactFinding(part.name, { rule: 'denied.file', decision: 'block', source, via, span });
    }
    if (!part.text) continue;
    for (const match of await input.match(part.bytes)) passages.add(match, part);
    yield* secretsIn(part, input, part.whole ? null : original);
    if (part.whole) original = part.bytes;
    yield* exactIn(part, canaries, input);
  }
  reported.delete(name);
  yield* textOfNames(item, [...reported], { canaries, passages, input });
  yield* passages.findings();
}

interface NameSearch {
  readonly canaries: CanarySet;
  readonly passages: PassageCollector;
  readonly input: GateInput;
}

/** A name leaves as any other text does. What it discloses as a path is reported separately. */
async function* textOfNames(
  { name }: GateItem,
  members: readonly string[],
  { canaries, passages, input }: NameSearch,
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

interface ExactFinding
  extends Pick<UntracedFinding, 'rule' | 'decision'>, Partial<Omit<GateEvidence, 'source'>> {
  readonly source: string;
}

const exactFinding = (
  name: string,
  { rule, decision, ...evidence }: ExactFinding,
): UntracedFinding => ({
  rule,
  decision,
  name,
  score: null,
  evidence: { span: null, lines: null, via: [], text: null, ...evidence },
});

/** The denied names in a name. */
function* namesIn(
  reported: string,
  name: string,
  { names }: GateInput,
): Generator<UntracedFinding> {
  for (const hit of names.find(Buffer.from(reported, 'utf8'))) {
    yield nameFinding(name, hit, {
      via: ['name'],
      text: reported.slice(0, textMax).toWellFormed(),
    });
  }
}

const nameFinding = (
  name: string,
  { name: source, decision }: NameHit,
  evidence: Partial<GateEvidence>,
): UntracedFinding => exactFinding(name, { rule: 'denied.name', decision, source, ...evidence });

/** Prefixes of the paths in archives of packages, and in source maps of bundlers. */
const pathPrefix = /^(?:[a-z][a-z+.-]*:\/\/[^/]*\/)?(?:\.{0,2}\/)*/;

function* memberNames(full: string, item: string, input: GateInput): Generator<UntracedFinding> {
  const member = full.slice(item.length + 2);
  yield* namesIn(member, full, input);
  const path = member.slice(member.lastIndexOf('!/') + 1).replace(pathPrefix, '');
  const below = path.slice(path.indexOf('/') + 1);
  const source = [path, below].find((one) => one !== '' && input.isDenied(one));
  if (source !== undefined) {
    // An unrelated archive can have the same path.
    yield exactFinding(full, { rule: 'denied.path', decision: 'review', source, via: ['name'] });
  }
}

/** @param original the text that this part is a filtered view of; `null`: it is none */
async function* secretsIn(
  part: DecodedPart,
  { findSecrets }: GateInput,
  original: Uint8Array | null,
): AsyncGenerator<UntracedFinding> {
  const reported = new Set<string>();
  const text = original && Buffer.from(original.buffer, original.byteOffset, original.length);
  let checks = 0;
  for (const hit of await findSecrets(part.bytes)) {
    const { name: source, kind, span, score } = hit;
    if (hit.bare === true && text !== null && checks < checksMax) {
      checks += 1;
      if (isInOriginal(part, span, text)) continue;
    }
    if (reported.has(`${kind} ${source}`)) continue;
    reported.add(`${kind} ${source}`);
    const decision = kind === 'known' || score >= likelyScoreBlock ? 'block' : 'review';
    const rule = kind === 'known' ? 'secret.known' : 'secret.likely';
    const evidence = { source, via: part.via, span: spanInItem(part, span) };
    yield exactFinding(part.name, { rule, decision, ...evidence });
  }
}

/**
 * Whether the original text contains what a view shows. Its surroundings there decide already
 * whether it is a secret. Filtered words, in contrast, look as mixed as keys.
 */
function isInOriginal(
  { bytes, via }: DecodedPart,
  span: readonly [number, number],
  original: Buffer,
): boolean {
  const last = via.at(-1) ?? '';
  return filterVias.has(last) || original.includes(Buffer.from(bytes.subarray(...span)));
}

/** Names and canaries. */
async function* exactIn(
  part: DecodedPart,
  canaries: CanarySet,
  { names, yieldToEventLoop: pause }: GateInput,
): AsyncGenerator<UntracedFinding> {
  const reported = new Set<string>();
  const isNew = (what: string): boolean => !reported.has(what) && reported.add(what).size > 0;
  for (let from = 0; from < part.bytes.length; from += windowBytes) {
    if (from > 0) await pause();
    const bytes = part.bytes.subarray(from, from + windowBytes + overlapBytes);
    const squeezed = canaries.isEmpty ? null : squeezeText(bytes);
    const evidenceAt = (span: readonly [number, number]): Partial<GateEvidence> => ({
      via: part.via,
      span: spanInItem(part, [from + span[0], from + span[1]]),
    });
    for (const { index, span } of squeezed === null ? [] : canaries.find(squeezed)) {
      const source = `canary ${index + 1}`;
      const finding = { rule: 'canary', decision: 'block', source, ...evidenceAt(span) } as const;
      if (isNew(source)) yield exactFinding(part.name, finding);
    }
    for (const hit of names.find(bytes, squeezed)) {
      if (!isNew(`name ${hit.name}`)) continue;
      const text = Buffer.from(bytes.subarray(...hit.span))
        .toString('utf8')
        .slice(0, textMax);
      yield nameFinding(part.name, hit, { ...evidenceAt(hit.span), text: text.toWellFormed() });
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
  const disclosing = new Set(
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
      item: disclosing.has(top(item)) ? null : top(item),
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
