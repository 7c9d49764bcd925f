/**
 * Puts secrets in the place of their placeholders: where they may be, and nowhere else. Whoever
 * sends a placeholder to another place tries to lead the secret there.
 */
import type { BrokeredCredential } from '../network-access.ts';
import { coversName, coversPort, parseHostRules, type HostRule } from '../network/host-rules.ts';
import { replaceInBody } from './credential-body.ts';
import type { Header, RequestHead } from './http-messages.ts';
import { ValueFinder } from './masking.ts';
import { signAgain, signsBody } from './sign-aws.ts';

interface Credential extends BrokeredCredential {
  readonly rules: readonly HostRule[];
}

/** Where a request goes. */
export interface RequestPlace {
  readonly name: string;
  readonly port: number;
  readonly isSecure: boolean;
}

export type CredentialResult =
  | {
      readonly kind: 'put';
      readonly head: RequestHead;
      /** `null`: it goes on as it came. */
      readonly body: Buffer | null;
      /** Names of the secrets that were put in. */
      readonly secrets: readonly string[];
    }
  | { readonly kind: 'refused'; readonly rule: string };

/** A body with secrets, or one that is signed, is held back whole. */
export const heldBodyMax = 4 * 1024 * 1024;

export class CredentialSet {
  readonly #credentials: readonly Credential[];
  /** Finds placeholders. */
  readonly placeholders: ValueFinder;
  readonly #values = new Map<string, ValueFinder>();

  /** @throws RangeError for hosts that are no rules */
  constructor(credentials: readonly BrokeredCredential[]) {
    this.#credentials = credentials.map((one) => ({ ...one, rules: parseHostRules(one.hosts) }));
    this.placeholders = new ValueFinder(
      credentials.map(({ name, placeholder }) => ({ name, value: placeholder })),
    );
  }

  get isEmpty(): boolean {
    return this.#credentials.length === 0;
  }

  isFor(name: string, port: number): boolean {
    return this.#for(name, port).length > 0;
  }

  /** Finds the values that a host gets, in its answers; `null`: it gets none. */
  valuesFor(name: string, port: number): ValueFinder | null {
    const found = this.#for(name, port);
    if (found.length === 0) return null;
    const key = `${name}:${port}`;
    const known = this.#values.get(key) ?? new ValueFinder(found);
    this.#values.set(key, known);
    return known;
  }

  /** The secret whose placeholder is in a host name; `null`: none. */
  inName(name: string): string | null {
    const letters = name.replaceAll('.', '').toLowerCase();
    const found = this.#credentials.find((one) =>
      letters.includes(one.placeholder.replaceAll('.', '').toLowerCase()),
    );
    return found?.name ?? null;
  }

  /** Whether the body must be there before the head can go on. */
  needsBody(head: RequestHead, { name, port }: RequestPlace): boolean {
    return this.#for(name, port).some(
      ({ body, signs }) =>
        (body.length > 0 && isTextBody(head)) ||
        (signs !== undefined && isSigned(head) && signsBody(head)),
    );
  }

  /** @param body where it is there already: see {@link needsBody} */
  put(head: RequestHead, body: Buffer | null, place: RequestPlace): CredentialResult {
    const usable = this.#for(place.name, place.port).filter(
      ({ plaintext }) => place.isSecure || plaintext === true,
    );
    const secrets = new Set<string>();
    // What is left of the request where every placeholder that may be there is taken out.
    const rest: string[] = [];
    const target = putInQuery(head.target, usable, secrets, rest);
    const headers = head.headers.map((header) => putInHeader(header, usable, secrets, rest));
    let changed: RequestHead = { ...head, target, headers };
    let changedBody = body;
    if (body !== null) {
      const found = replaceInBody(body, usable, contentType(head));
      for (const name of found.secrets) secrets.add(name);
      changedBody = found.body;
      rest.push(found.rest);
    }
    const [leaked] = this.placeholders.findIn(Buffer.from(rest.join('\n'), 'latin1'));
    if (leaked !== undefined) return { kind: 'refused', rule: leakRule(leaked) };
    const signer = usable.find(({ signs }) => signs === 'aws4');
    if (signer !== undefined && isSigned(head)) {
      const signed = signAgain(changed, changedBody, { ...signer, host: place.name });
      if (signed.kind === 'refused') return signed;
      changed = signed.head;
      secrets.add(signer.name);
    }
    return { kind: 'put', head: changed, body: changedBody, secrets: [...secrets] };
  }

  #for(name: string, port: number): readonly Credential[] {
    return this.#credentials.filter(({ rules }) =>
      rules.some((rule) => coversName(rule, name) && coversPort(rule, port)),
    );
  }
}

export const leakRule = (name: string): string => `leak of ${name}`;

const contentType = ({ headers }: RequestHead): string =>
  headers.find(({ key }) => key === 'content-type')?.value.toLowerCase() ?? '';

const isTextBody = (head: RequestHead): boolean =>
  /^application\/(?:json|x-www-form-urlencoded)\b/.test(contentType(head));

const isSigned = ({ headers }: RequestHead): boolean =>
  headers.some(({ key, value }) => key === 'authorization' && value.startsWith('AWS4-'));

function putInQuery(
  target: string,
  usable: readonly Credential[],
  secrets: Set<string>,
  rest: string[],
): string {
  const at = target.indexOf('?');
  if (at < 0) {
    rest.push(target);
    return target;
  }
  rest.push(target.slice(0, at));
  const pairs = target
    .slice(at + 1)
    .split('&')
    .map((pair) => {
      const [, key = pair, value = ''] = /^([^=]*)=(.*)$/s.exec(pair) ?? [];
      const found = usable.find(
        ({ query, placeholder }) => query.includes(key) && encodesAs(value, placeholder),
      );
      rest.push(found === undefined ? pair : key);
      if (found === undefined) return pair;
      secrets.add(found.name);
      return `${key}=${encodeURIComponent(found.value)}`;
    });
  return `${target.slice(0, at)}?${pairs.join('&')}`;
}

const encodesAs = (encoded: string, text: string): boolean => {
  try {
    return decodeURIComponent(encoded) === text;
  } catch {
    return false;
  }
};

const isIn = (headers: readonly string[], key: string): boolean =>
  headers.includes(key) || headers.includes('*');

function putInHeader(
  header: Header,
  usable: readonly Credential[],
  secrets: Set<string>,
  rest: string[],
): Header {
  const { key, value } = header;
  const [, scheme, encoded = ''] = /^(basic)\s+(.+)$/i.exec(value) ?? [];
  const isBasic = key === 'authorization' && scheme !== undefined;
  let text = isBasic ? Buffer.from(encoded, 'base64').toString('latin1') : value;
  let left = text;
  for (const { name, placeholder, value: secret, headers } of usable) {
    if (!isIn(headers, key) || !text.includes(placeholder)) continue;
    text = text.replaceAll(placeholder, Buffer.from(secret, 'utf8').toString('latin1'));
    left = left.replaceAll(placeholder, ' ');
    secrets.add(name);
  }
  rest.push(`${header.name}: ${left}`);
  if (text === (isBasic ? left : value)) return header;
  return {
    ...header,
    value: isBasic ? `${scheme} ${Buffer.from(text, 'latin1').toString('base64')}` : text,
  };
}
