/** Finds keys with a form of their own: their literals lead to candidates, and the form decides. */
import { mergeFindings, type SecretFinding } from '../secret-finding.ts';
import {
  KeywordAutomaton,
  scanKeywords,
  scanTwoAutomata,
  type KeywordSearch,
} from './keyword-automaton.ts';
import { skipEscapeRest, canTokenBeginAt, isMadeOfWords, isExampleToken } from './token-bounds.ts';
import { matchNearbyToken, type NearbyTokenForm } from './nearby-token.ts';
import type { SecretRule } from './secret-rule.ts';
import {
  characterClassOf,
  longRunMin,
  parseShapeParts,
  parseShape,
  shapePatternSource,
  type KeyShape,
} from './key-shape.ts';
import { shippedRules } from './shipped-rules.ts';

/** What a keyword triggers: forms that contain it, and rules that need it nearby. */
interface Trigger {
  readonly keyword: string;
  readonly forms: Form[];
  readonly near: NearRow[];
}

interface Form {
  readonly rule: SecretRule;
  readonly shape: KeyShape;
  /** By character code, whether it can be in the run before the keyword. */
  readonly lead: Uint8Array | null;
  readonly pattern: RegExp;
  /** Whether more must follow a long run, so that it is tried only once for each run. */
  readonly strict: boolean;
  /** In the current text, the offset up to which the form matched and was refused. */
  refusedTo: number;
}

interface NearRow {
  readonly rule: SecretRule;
  readonly form: NearbyTokenForm;
}

const sureScore = 0.99;
/** For a form next to its provider's name, without a word such as "token". */
const unlabelledScore = 0.7;

/**
 * All rules in one matcher. It owns buffers, so it cannot be used recursively. A match never
 * crosses the end of its line.
 */
export class SecretRuleSet {
  readonly #triggers: readonly Trigger[];
  readonly #forms: readonly Form[];
  readonly #nearForms: readonly NearbyTokenForm[];
  readonly #search: KeywordSearch;
  static #shipped: SecretRuleSet | null = null;

  constructor(rules: readonly SecretRule[]) {
    const triggers = new Map<string, Trigger>();
    for (const rule of rules) addRule(triggers, rule);
    this.#triggers = [...triggers.values()];
    this.#forms = this.#triggers.flatMap(({ forms }) => forms);
    const rows = this.#triggers.flatMap(({ near }) => near);
    this.#nearForms = [...new Set(rows.map(({ form }) => form))];
    const automaton = new KeywordAutomaton(this.#triggers.map(({ keyword }) => keyword));
    this.#search = { automaton, hits: { pairs: new Int32Array(1024), count: 0 } };
  }

  /** The shipped rules; built on the first call. */
  static shipped(): SecretRuleSet {
    SecretRuleSet.#shipped ??= new SecretRuleSet(shippedRules);
    return SecretRuleSet.#shipped;
  }

  /**
   * Keys in `text[from, to)`, sorted and not overlapping. `text` is the latin1 of `bytes`. If
   * `from` and `to` are at line ends, the findings do not depend on which ones.
   */
  find(text: string, bytes: Uint8Array, from: number, to: number): SecretFinding[] {
    scanKeywords(this.#search, bytes, [from, to]);
    return this.#match(text);
  }

  /** As `find` in the whole text, with another search in the same pass. */
  findBeside(text: string, bytes: Uint8Array, other: KeywordSearch): SecretFinding[] {
    scanTwoAutomata(this.#search, other, bytes);
    return this.#match(text);
  }

  #match(text: string): SecretFinding[] {
    const { hits } = this.#search;
    if (hits.count === 0) return [];
    for (const form of this.#forms) form.refusedTo = 0;
    for (const form of this.#nearForms) form.judgedTo = 0;
    const found: SecretFinding[] = [];
    for (let at = 0; at < hits.count; at += 1) {
      const trigger = this.#triggers[hits.pairs[2 * at] ?? 0];
      const end = hits.pairs[2 * at + 1] ?? 0;
      if (trigger !== undefined) match(text, trigger, end, found);
    }
    return mergeFindings(found, (surest) => surest.key);
  }
}

function match(text: string, trigger: Trigger, end: number, found: SecretFinding[]): void {
  const start = end - trigger.keyword.length;
  const last = found.at(-1);
  // Within a sure finding, further keywords mean nothing.
  if (last !== undefined && start > last.start && end <= last.end && last.score > 0.9) return;
  for (const form of trigger.forms) {
    const finding = matchForm(text, form, start);
    if (finding !== null) found.push(finding);
  }
  for (const { rule, form } of trigger.near) {
    const near = matchNearbyToken(text, [start, end], form);
    if (near === null) continue;
    const score = near.labelled ? rule.score : unlabelledScore;
    const key = text.slice(start, end);
    found.push({ start: near.start, end: near.end, kind: 'format', rule: rule.id, score, key });
  }
}

function matchForm(text: string, form: Form, keywordAt: number): SecretFinding | null {
  const { rule, shape, pattern } = form;
  if (keywordAt < form.refusedTo) return null;
  const at = startOf(text, form, keywordAt);
  if (at < 0 || (!rule.anywhere && !canTokenBeginAt(text, at))) return null;
  if (form.strict && at > 0 && '-_'.includes(text.charAt(at - 1))) return null;
  pattern.lastIndex = at;
  const groups = pattern.exec(text);
  const secret = groups?.[2];
  if (secret === undefined || groups === null) return null;
  if (!rule.wordy && (isExampleToken(secret) || isMadeOfWords(bodyOf(secret, shape)))) {
    form.refusedTo = pattern.lastIndex;
    return null;
  }
  const start = at + (groups[1] ?? '').length;
  const score = rule.checksum?.(secret) === true ? sureScore : rule.score;
  return { start, end: start + secret.length, kind: 'format', rule: rule.id, score, key: null };
}

/** The start of the match with its keyword at `keywordAt`; -1: there is none. */
function startOf(text: string, { shape, lead }: Form, keywordAt: number): number {
  const { leadMin, leadMax } = shape;
  if (lead === null) return keywordAt - leadMin;
  let at = keywordAt;
  const farthest = Math.max(0, keywordAt - leadMax - 10);
  while (at > farthest && lead[text.charCodeAt(at - 1) & 0xff] === 1) at -= 1;
  // At most 9 characters of an escape are letters and digits: the run can be so much longer.
  at = skipEscapeRest(text, at);
  const length = keywordAt - at;
  return length < leadMin || length > leadMax ? -1 : at;
}

/** The secret without its leading literal. */
function bodyOf(secret: string, { parts }: KeyShape): string {
  const first = parts.find(({ kind }) => kind !== 'open');
  if (first?.kind !== 'text') return secret;
  const heads = first.options.filter((option) => secret.startsWith(option));
  return secret.slice(Math.max(0, ...heads.map((head) => head.length)));
}

function addRule(triggers: Map<string, Trigger>, rule: SecretRule): void {
  const flags = rule.fold ? 'iy' : 'y';
  if (rule.near.length > 0) {
    const patterns = rule.shapes.map(
      (shape) => new RegExp(shapePatternSource(parseShapeParts(shape)), 'y'),
    );
    const row = { rule, form: { patterns, joined: rule.joined, judgedTo: 0 } };
    for (const word of rule.near) triggerOf(triggers, word).near.push(row);
    return;
  }
  for (const notation of rule.shapes) {
    const shape = parseShape(notation);
    const form: Form = {
      rule,
      shape,
      lead: leadOf(shape),
      pattern: new RegExp(shape.source, flags),
      strict: shape.parts.some(
        (part, at) => part.kind === 'run' && part.max >= longRunMin && at < shape.parts.length - 1,
      ),
      refusedTo: 0,
    };
    for (const keyword of new Set(shape.keywords)) triggerOf(triggers, keyword).forms.push(form);
  }
}

function triggerOf(triggers: Map<string, Trigger>, keyword: string): Trigger {
  const trigger = triggers.get(keyword) ?? { keyword, forms: [], near: [] };
  triggers.set(keyword, trigger);
  return trigger;
}

function leadOf({ parts, leadMin, leadMax }: KeyShape): Uint8Array | null {
  if (leadMin === leadMax) return null;
  const first = parts.find(({ kind }) => kind === 'run');
  const allowed = new RegExp(`[${first?.kind === 'run' ? characterClassOf(first.of) : ''}]`);
  return Uint8Array.from({ length: 256 }, (_, code) =>
    Number(allowed.test(String.fromCharCode(code))),
  );
}
