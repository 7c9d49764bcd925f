/** What the commands of a session may reach through the bridge, and the decision on one name. */
import { isIPv4 } from 'node:net';
import type { EgressRules, UpstreamProxy } from '../network-access.ts';
import {
  coversName,
  coversPort,
  parseAddressAndPort,
  parseHostRules,
  webPorts,
} from './host-rules.ts';
import type { HostRule } from './host-rules.ts';
import { bypassesProxy } from './upstream-proxy.ts';
import {
  deniesRequest,
  isEveryRequest,
  meansRequest,
  plainPath,
  type HttpRequest,
} from './request-rules.ts';

/** Ports of `open` besides those of its rules: what a session itself cannot listen on. */
export const openPorts: readonly number[] = [...webPorts, 22];

/** Of what no rule names. */
export const notAllowedRule = 'not allowed';
/** Of a host that a person was asked about while a program waited. */
export const deniedByPerson = 'denied by a person';
export const unanswered = 'nobody answered in time';
export const lateAnswer = 'allowed after the program gave up';

export interface NetworkDecision {
  readonly isAllowed: boolean;
  /** The rule that decided: its text, `open`, or `not allowed` where none names it. */
  readonly rule: string;
}

const notAllowedRequest: NetworkDecision = { isAllowed: false, rule: 'request not allowed' };
const ambiguousPath: NetworkDecision = { isAllowed: false, rule: 'ambiguous path' };
const hasPath = (rules: readonly HostRule[]): boolean => rules.some(({ path }) => path !== null);

/** A denial without a port is one of every port, not only of those that a rule permits. */
const denies = (rule: HostRule, name: string, port: number | null): boolean =>
  coversName(rule, name) && (rule.port === null || rule.port === port);

export class EgressDecider {
  readonly #mode: EgressRules['mode'];
  readonly #allow: readonly HostRule[];
  readonly #deny: readonly HostRule[];
  readonly #private: readonly HostRule[];
  readonly #connect: ReadonlyMap<string, string>;
  readonly #proxy: UpstreamProxy | null;

  /** @throws RangeError for a text that is no rule */
  constructor(rules: EgressRules) {
    this.#mode = rules.mode;
    this.#allow = parseHostRules(rules.allow);
    this.#deny = parseHostRules(rules.deny);
    this.#private = parseHostRules(rules.private);
    this.#connect = new Map(Object.entries(rules.connect));
    this.#proxy = rules.proxy ?? null;
  }

  /** @param port `null`: whether any port of the name may be reached */
  decide(name: string, port: number | null): NetworkDecision {
    const isMatch = (rule: HostRule): boolean =>
      coversName(rule, name) && (port === null || coversPort(rule, port));
    const denied = this.#deny.find((rule) => isEveryRequest(rule) && denies(rule, name, port));
    if (denied !== undefined) return { isAllowed: false, rule: `deny ${denied.text}` };
    const allowed = this.#allow.find(isMatch);
    if (allowed !== undefined) return { isAllowed: true, rule: allowed.text };
    if (this.#mode === 'open' && (port === null || openPorts.includes(port))) {
      return { isAllowed: true, rule: 'open' };
    }
    return { isAllowed: false, rule: notAllowedRule };
  }

  /** Whether some requests of it are denied, so that each must be seen. */
  deniesRequests(name: string, port: number): boolean {
    return this.#requestDenials(name, port).length > 0;
  }

  /** Whether its rules allow some requests alone, so that each must be seen. */
  allowsRequests(name: string, port: number): boolean {
    const allowing = this.#allowing(name, port);
    return allowing.length > 0 && !allowing.some(isEveryRequest);
  }

  /** Why a request is denied; `null`: it is not. */
  requestDenial(name: string, port: number, request: HttpRequest): NetworkDecision | null {
    const denials = this.#requestDenials(name, port);
    const path = plainPath(request.target);
    if (path === null && hasPath(denials)) return ambiguousPath;
    const denied = denials.find((rule) => deniesRequest(rule, request.method, path ?? ''));
    return denied === undefined ? null : { isAllowed: false, rule: `deny ${denied.text}` };
  }

  /** Of a host that {@link decide} permits: whether it may get this request. */
  decideRequest(name: string, port: number, request: HttpRequest): NetworkDecision {
    const denial = this.requestDenial(name, port, request);
    if (denial !== null) return denial;
    const allowing = this.#allowing(name, port);
    const path = plainPath(request.target);
    const every = allowing.find(isEveryRequest);
    if (every !== undefined) return { isAllowed: true, rule: every.text };
    if (path === null && hasPath(allowing)) return ambiguousPath;
    const allowed = allowing.find((rule) => meansRequest(rule, request.method, path ?? ''));
    if (allowed !== undefined) return { isAllowed: true, rule: allowed.text };
    // Only rules for hosts are narrowed by rules for requests: who permits all of it permits this.
    return allowing.length === 0 ? this.decide(name, port) : notAllowedRequest;
  }

  #requestDenials(name: string, port: number): readonly HostRule[] {
    return this.#deny.filter((rule) => !isEveryRequest(rule) && denies(rule, name, port));
  }

  /** Rules with limits that hold for a name, all of them: the strictest decides. */
  limitsOf(name: string, port: number): readonly HostRule[] {
    return this.#allowing(name, port).filter(
      ({ uploadBytesMax, connectionsMax }) => uploadBytesMax !== null || connectionsMax !== null,
    );
  }

  #allowing(name: string, port: number): readonly HostRule[] {
    return this.#allow.filter((rule) => coversName(rule, name) && coversPort(rule, port));
  }

  /** Ports on which a name may be reached, beside {@link openPorts}. */
  portsOf(name: string): readonly number[] {
    return this.#allow.flatMap((rule) =>
      rule.port !== null && coversName(rule, name) ? [rule.port] : [],
    );
  }

  /** Addresses that rules name, each with its port. */
  get addresses(): readonly { readonly address: string; readonly port: number }[] {
    return this.#allow.flatMap(({ name, port }) =>
      port !== null && isIPv4(name) ? [{ address: name, port }] : [],
    );
  }

  mayBePrivate(name: string): boolean {
    return this.#private.some((rule) => coversName(rule, name));
  }

  /** The proxy that leads to a name; `null`: none does. */
  proxyFor(name: string, port: number): UpstreamProxy | null {
    const proxy = this.#proxy;
    return proxy === null || bypassesProxy(proxy, name, port) ? null : proxy;
  }

  /** Where a name is served instead; `null`: where its addresses are. */
  servedAt(name: string, port: number): { readonly address: string; readonly port: number } | null {
    if (isIPv4(name)) return { address: name, port };
    return parseAddressAndPort(this.#connect.get(name) ?? '');
  }
}
