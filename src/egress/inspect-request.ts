/** What a request that is seen may be, and what becomes of it on its way. */
import type { Transform } from 'node:stream';
import type { NetworkDecision } from '../network/egress-rules.ts';
import type { HttpRequest } from '../network/request-rules.ts';
import { heldBodyMax, leakRule, type CredentialSet } from './credential-set.ts';
import type { Header, RequestHead } from './http-messages.ts';
import { FoundValue, type ValueFinder } from './masking.ts';
import { LimitReached } from './usage-limits.ts';

export interface InspectedRequest {
  readonly kind: 'permitted';
  readonly head: RequestHead;
  /** All of it; `null`: it goes on as it comes, through {@link guard}. */
  readonly body: Buffer | null;
  /** Ends with {@link refusalIn}'s error at a placeholder; `null`: there is none to look for. */
  readonly guard: Transform | null;
  /** Finds in its answer what the host was given; `null`: nothing. */
  readonly scrubbed: ValueFinder | null;
}

export type Inspection = InspectedRequest | { readonly kind: 'refused'; readonly rule: string };

export interface InspectOptions {
  readonly isSecure: boolean;
  /** Of a body up to so many bytes; `null`: it is larger. */
  readonly readBody: (bytesMax: number) => Promise<Buffer | null>;
}

export type InspectRequest = (head: RequestHead, options: InspectOptions) => Promise<Inspection>;

/** What decides on the requests of one connection, as it is at the moment. */
export interface RequestRules {
  readonly name: string;
  readonly port: number;
  readonly credentials: CredentialSet;
  readonly decide: (request: HttpRequest) => NetworkDecision;
  /** Called for each request that is permitted. */
  readonly permitted: (request: HttpRequest, secrets: readonly string[]) => void;
  /** @throws LimitReached */
  readonly takeUpload: (bytes: number) => void;
  /** For a body that goes on as it comes. */
  readonly guard: () => Transform | null;
}

/** With these a server may take another method than the one that was decided on. */
const methodOverrides = ['x-http-method-override', 'x-http-method', 'x-method-override'];

export async function inspectRequest(
  rules: RequestRules,
  head: RequestHead,
  { isSecure, readBody }: InspectOptions,
): Promise<Inspection> {
  const { name, port, credentials, decide, permitted, guard } = rules;
  const request: HttpRequest = { method: head.method, target: head.target };
  const decision = decide(request);
  if (!decision.isAllowed) return { kind: 'refused', rule: decision.rule };
  if (head.headers.some(({ key, value }) => isOverride(key, value, head.method))) {
    return { kind: 'refused', rule: 'another method in a header' };
  }
  if (credentials.isEmpty) {
    const spent = usedUp(rules, head, null);
    if (spent !== null) return spent;
    permitted(request, []);
    return { kind: 'permitted', head, body: null, guard: guard(), scrubbed: null };
  }
  const place = { name, port, isSecure };
  const held = credentials.needsBody(head, place) ? await readBody(heldBodyMax) : undefined;
  if (held === null) return { kind: 'refused', rule: 'body too large for a credential in it' };
  const result = credentials.put(head, held ?? null, place);
  if (result.kind === 'refused') return result;
  const spent = usedUp(rules, head, held ?? null);
  if (spent !== null) return spent;
  permitted(request, result.secrets);
  const scrubbed = credentials.valuesFor(name, port);
  return {
    kind: 'permitted',
    head: withoutEncodings(withLength(result.head, result.body), scrubbed !== null),
    body: result.body,
    guard: result.body === null ? guard() : null,
    scrubbed,
  };
}

/** Why no more may be sent; `null`: it may. */
function usedUp(
  { takeUpload }: RequestRules,
  { target, headers }: RequestHead,
  body: Buffer | null,
): Inspection | null {
  const fields = headers.map(({ name, value }) => name.length + value.length);
  const bytes = fields.reduce((sum, one) => sum + one, target.length) + (body?.length ?? 0);
  try {
    takeUpload(bytes);
    return null;
  } catch (error) {
    const rule = refusalIn(error);
    if (rule === null) throw error;
    return { kind: 'refused', rule };
  }
}

const isOverride = (key: string, value: string, method: string): boolean =>
  methodOverrides.includes(key) && value.trim().toUpperCase() !== method;

/** A value may be found again only in what can be read. */
function withoutEncodings(head: RequestHead, isScrubbed: boolean): RequestHead {
  if (!isScrubbed) return head;
  const headers = head.headers.filter(({ key }) => key !== 'sec-websocket-extensions');
  return {
    ...head,
    headers: headers.map((one) =>
      one.key === 'accept-encoding' ? { ...one, value: 'identity' } : one,
    ),
  };
}

function withLength(head: RequestHead, body: Buffer | null): RequestHead {
  if (body === null) return head;
  const others = head.headers.filter(({ key }) => key !== 'content-length');
  const length: Header = {
    key: 'content-length',
    name: 'Content-Length',
    value: String(body.length),
  };
  return { ...head, headers: body.length === 0 ? others : [...others, length] };
}

/** The rule of an error of {@link InspectedRequest.guard}; `null`: it is another error. */
export function refusalIn(error: unknown): string | null {
  if (error instanceof FoundValue) return leakRule(error.message);
  return error instanceof LimitReached ? error.message : null;
}
