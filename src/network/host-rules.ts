/**
 * Which hosts may be reached: rules as text, parsed once and strictly.
 *
 *   example.com         that name, on the ports of HTTP and HTTPS
 *   *.example.com       every name below it, but not itself
 *   example.com:8443    that port alone
 *   127.0.0.1:5432      that address and port, also of this machine or a private network
 *
 * `upload=10MB` and `connections=5` behind a blank limit what one command sends and makes.
 * Methods before it and a path behind it make it a rule for requests (`request-rules.ts`).
 */
import { isIPv4, isIPv6 } from 'node:net';
import { domainToASCII } from 'node:url';
import { addressKind } from './addresses.ts';
import { coversRequests, parseRequestRule, type RequestRule } from './request-rules.ts';

export interface HostRule extends RequestRule {
  /** As it was written, in its normal form: `*.example.com:8443`. */
  readonly text: string;
  /** Lower case, without the `*.`; or an IPv4 address. */
  readonly name: string;
  readonly isWildcard: boolean;
  /** `null`: {@link webPorts}. */
  readonly port: number | null;
  /** That a command may send to its hosts, all in all; `null`: no limit. */
  readonly uploadBytesMax: number | null;
  /** That a command may make to its hosts, all in all; `null`: no limit. */
  readonly connectionsMax: number | null;
}

/** Ports of a rule that names none. */
export const webPorts: readonly number[] = [80, 443];
export const hostRulesMax = 256;

const nameBytesMax = 253;
const labelPattern = /^(?!-)[a-z0-9_-]{1,63}(?<!-)$/;
/** A last label of digits only, or `0x…`, is read as an IPv4 address by many programs. */
const numericLabel = /^(?:\d+|0x[0-9a-f]*)$/;

/**
 * A host name in its normal form: lower case, IDNA, without the final dot. `null`: it is none, or
 * an address.
 */
export function normalHostName(text: string): string | null {
  // What a URL parser would decode or cut off is refused before it can.
  if (/[^\p{L}\p{M}\p{N}._-]/u.test(text)) return null;
  const ascii = domainToASCII(text.endsWith('.') ? text.slice(0, -1) : text);
  const labels = ascii.split('.');
  const isName = labels.every((label) => labelPattern.test(label));
  if (!isName || ascii.length > nameBytesMax) return null;
  return numericLabel.test(labels.at(-1) ?? '') ? null : ascii;
}

/** An address and a port in a text; `null`: it is none. */
export function parseAddressAndPort(
  text: string,
): { readonly address: string; readonly port: number } | null {
  const [, six, four, digits] = /^(?:\[([0-9a-f:.]+)\]|([\d.]+)):(\d{1,5})$/i.exec(text) ?? [];
  const port = Number(digits ?? 0);
  const isAddress = six === undefined ? isIPv4(four ?? '') : isIPv6(six);
  return isAddress && port > 0 && port <= 65_535 ? { address: six ?? four ?? '', port } : null;
}

export const isAddressAndPort = (text: string): boolean => parseAddressAndPort(text) !== null;

/**
 * Whether what a client wrote is a name, but for case and the final dot. Without IDNA: its server
 * compares bytes, so what another reader makes of them must not count.
 *
 * @param name in its normal form
 */
export function isNameAsSent(text: string, name: string): boolean {
  const lower = text.toLowerCase();
  return lower === name || lower === `${name}.`;
}

/** Which host a rule means, before anything is said about its requests. */
type HostPart = Omit<HostRule, keyof RequestRule | keyof LimitPart>;
type LimitPart = Pick<HostRule, 'uploadBytesMax' | 'connectionsMax'>;

/** An address that a rule may name: of this machine, of a private network, or public. */
function parseAddressPart(text: string): HostPart | null {
  const { address = '', port = 0 } = parseAddressAndPort(text) ?? {};
  // The rest of 127.0.0.0/8 has the resolver, and nothing of this machine.
  const isOwn = address === '127.0.0.1';
  if (!isIPv4(address) || (!isOwn && addressKind(address) === 'special')) return null;
  return { text: `${address}:${port}`, name: address, isWildcard: false, port };
}

function parseNamePart(text: string): HostPart | null {
  const [, star, host = '', digits] = /^(\*\.)?([^:*]+)(?::(\d{1,5}))?$/u.exec(text) ?? [];
  const name = normalHostName(host);
  const isWildcard = star !== undefined;
  // `*.com` would be half of the Internet.
  if (name === null || (isWildcard && !name.includes('.'))) return null;
  const port = digits === undefined ? null : Number(digits);
  if (port !== null && (port === 0 || port > 65_535)) return null;
  const normal = `${isWildcard ? '*.' : ''}${name}${port === null ? '' : `:${port}`}`;
  return { text: normal, name, isWildcard, port };
}

/** @returns `null` for a text that is no rule */
export function parseHostRule(text: string): HostRule | null {
  const form = /^(?:([A-Z|]+) )?([^ ]+)((?: [a-z]+=\w+)*)$/u.exec(text);
  const [, methods = '', rest = text, options = ''] = form ?? [];
  const [, host = '', path = ''] = /^([^/]+)(\/.*)?$/su.exec(rest) ?? [];
  const found = parseAddressPart(host) ?? parseNamePart(host);
  const requests = parseRequestRule(methods, path);
  const limits = parseLimits(options);
  if (found === null || requests === null || limits === null) return null;
  const before = requests.methods === null ? '' : `${requests.methods.join('|')} `;
  const normal = `${before}${found.text}${requests.path ?? ''}${limitText(limits)}`;
  return { ...found, ...requests, ...limits, text: normal };
}

const units: Readonly<Record<string, number>> = { GB: 1e9, MB: 1e6, kB: 1e3 };
const connectionsLimitMax = 1_000_000;

/** ` upload=10MB connections=5`, each once; `null`: it is something else. */
function parseLimits(text: string): LimitPart | null {
  const found: { -readonly [Key in keyof LimitPart]: LimitPart[Key] } = {
    uploadBytesMax: null,
    connectionsMax: null,
  };
  for (const option of text.split(' ').filter(Boolean)) {
    const [, name, digits = '', unit = ''] =
      /^(upload|connections)=(\d{1,9})([kMG]B)?$/.exec(option) ?? [];
    const count = Number(digits);
    if (name === 'upload' && found.uploadBytesMax === null) {
      found.uploadBytesMax = count * (units[unit] ?? 1);
    } else if (name === 'connections' && found.connectionsMax === null && unit === '') {
      if (count > connectionsLimitMax) return null;
      found.connectionsMax = count;
    } else return null;
  }
  return found;
}

function limitText({ uploadBytesMax: bytes, connectionsMax: connections }: LimitPart): string {
  const unit = Object.entries(units).find(
    ([, size]) => bytes !== null && bytes > 0 && bytes % size === 0,
  );
  const [name, size] = unit ?? ['', 1];
  return [
    bytes === null ? '' : ` upload=${bytes / size}${name}`,
    connections === null ? '' : ` connections=${connections}`,
  ].join('');
}

/** @throws RangeError with the first text that is no rule */
export function parseHostRules(texts: readonly string[]): readonly HostRule[] {
  return texts.map((text) => {
    const rule = parseHostRule(text);
    if (rule === null) throw new RangeError(text);
    return rule;
  });
}

/** @param name in its normal form */
export function coversName({ name: own, isWildcard }: HostRule, name: string): boolean {
  return isWildcard ? name.endsWith(`.${own}`) : name === own;
}

export const coversPort = ({ port }: HostRule, asked: number): boolean =>
  port === null ? webPorts.includes(asked) : port === asked;

/** Whether everything that `inner` permits is permitted by one of `rules`. */
export function coversRule(rules: readonly HostRule[], inner: HostRule): boolean {
  const ports = inner.port === null ? webPorts : [inner.port];
  const isNamed = (rule: HostRule): boolean =>
    inner.isWildcard
      ? rule.isWildcard && (rule.name === inner.name || inner.name.endsWith(`.${rule.name}`))
      : coversName(rule, inner.name);
  const covers = (rule: HostRule, port: number): boolean =>
    isNamed(rule) && coversPort(rule, port) && coversRequests(rule, inner);
  return ports.every((port) => rules.some((rule) => covers(rule, port)));
}
