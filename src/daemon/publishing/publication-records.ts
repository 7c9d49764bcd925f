/** Audit records of a check or publication: they contain the evidence, which answers omit. */
import { createHash } from 'node:crypto';
import type { EventKind, Json } from '../../audit/event.ts';
import { canonicalJson } from '../../canonical.ts';
import type { Caller, ExecId, SessionId } from '../../command.ts';
import type { GateFinding, GateVerdict, OutgoingItem } from '../../publish/publication.ts';
import type { AuditRecord } from '../auditing/auditing.ts';

/** The most items that an event names; the digest covers all of them. */
const namedMax = 1_000;

export interface InspectedPublication {
  readonly verdict: GateVerdict;
  readonly audience: string;
  readonly policyVersion: string;
  readonly items: readonly OutgoingItem[];
  /** SHA-256 (hex) of each item. */
  readonly contents: readonly string[];
  /** Of {@link itemsDigest}. */
  readonly itemsDigest: string;
  /** Commands that made parts of the content. */
  readonly execs: readonly ExecId[];
  readonly session?: SessionId | undefined;
  readonly exec?: ExecId | undefined;
}

/** SHA-256 (hex) of all items by name, mode and content: one line of canonical JSON each. */
export async function itemsDigest(
  { items, contents }: Pick<InspectedPublication, 'items' | 'contents'>,
  turn: () => Promise<void>,
): Promise<string> {
  const digest = createHash('sha256');
  for (const [at, { name, file }] of items.entries()) {
    await turn();
    const sha256 = contents[at] ?? null;
    const mode = file?.mode ?? null;
    digest.update(`${canonicalJson({ name: name.toWellFormed(), mode, sha256 })}\n`);
  }
  return digest.digest('hex');
}

/** Digest of what a person sees before approving. */
export function verdictDigest(inspected: InspectedPublication): string {
  const { verdict, audience, policyVersion } = inspected;
  const findings = verdict.findings.map(({ rule, decision, trace }) => ({ rule, decision, trace }));
  const { decision } = verdict;
  const items = inspected.itemsDigest;
  return sha256(canonicalJson({ audience, policyVersion, decision, items, findings }));
}

export function publicationAuditRecord(
  kind: Extract<EventKind, `publication.${string}`>,
  { actor }: Caller,
  inspected: InspectedPublication,
  more: { readonly [name: string]: Json } = {},
): AuditRecord {
  const { verdict, audience, policyVersion, items, contents, execs, session, exec } = inspected;
  return {
    kind,
    actor,
    ...(session === undefined ? {} : { session }),
    ...(exec === undefined ? {} : { exec }),
    data: {
      audience,
      policy_version: policyVersion,
      decision: verdict.decision,
      basis: verdict.basis,
      items: verdict.items,
      bytes: verdict.bytes,
      items_digest: inspected.itemsDigest,
      digest: verdictDigest(inspected),
      subjects: items.slice(0, namedMax).map(({ name }, at): Json => ({
        name: name.toWellFormed(),
        sha256: contents[at] ?? null,
      })),
      subjects_omitted: Math.max(0, items.length - namedMax),
      execs: execs.slice(0, namedMax),
      findings: verdict.findings.map(findingData),
      ...more,
    },
  };
}

function findingData({ rule, decision, item, score, trace, evidence }: GateFinding): Json {
  const { source, span, lines, via, text } = evidence;
  // An append-only log must not contain secrets, neither known nor likely ones.
  const shown = rule.startsWith('secret.') || text === null ? null : text.toWellFormed();
  return {
    rule,
    decision,
    trace,
    score,
    span,
    lines,
    via,
    item: item.toWellFormed(),
    source: source.toWellFormed(),
    text: shown,
  };
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
