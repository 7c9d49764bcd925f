/** The commands that run in one session: what their rules permit, and their records. */
import type { Socket } from 'node:net';
import type { Transform } from 'node:stream';
import type { ExecId } from '../command.ts';
import type { ConnectionSummary, EgressRules } from '../network-access.ts';
import {
  deniedByPerson,
  EgressDecider,
  notAllowedRule,
  type NetworkDecision,
} from '../network/egress-rules.ts';
import type { HttpRequest } from '../network/request-rules.ts';
import { ConnectionLog, type ConnectionRecord } from './connection-log.ts';
import { CredentialSet } from './credential-set.ts';
import { meteredStream, UsageLimits } from './usage-limits.ts';

interface Command {
  readonly rules: EgressRules;
  readonly decider: EgressDecider;
  readonly log: ConnectionLog;
  readonly limits: UsageLimits;
  /** What a person said while it ran, by host and port. */
  readonly answers: Map<string, boolean>;
}

/** `asker`: the command for which a person is asked; `null`: nobody is. */
export interface BridgeDecision extends NetworkDecision {
  readonly by: EgressDecider | null;
  readonly asker: ExecId | null;
}

/** Of a host that a person allowed while a program waited. */
const allowedByPerson = 'a person';

/**
 * A connection is not known to be one command's: all of a session share its namespace. So what the
 * rules of one permit is permitted.
 */
export class BridgeCommands {
  readonly #commands = new Map<ExecId, Command>();
  /** Of all of them. */
  #credentials = new CredentialSet([]);

  /** Names that a person wants no connection to. */
  readonly blocked = new Set<string>();

  get credentials(): CredentialSet {
    return this.#credentials;
  }

  get deciders(): readonly EgressDecider[] {
    return [...this.#commands.values()].map(({ decider }) => decider);
  }

  /** @throws RangeError for a text that is no rule */
  begin(exec: ExecId, rules: EgressRules): EgressDecider {
    const decider = new EgressDecider(rules);
    const limits = new UsageLimits(decider);
    const own = { rules, decider, limits, log: new ConnectionLog(), answers: new Map() };
    this.#commands.set(exec, own);
    this.#collectCredentials();
    if (this.#commands.size > 1) for (const { log } of this.#commands.values()) log.share();
    return decider;
  }

  end(exec: ExecId): readonly ConnectionSummary[] {
    const summaries = this.#commands.get(exec)?.log.summaries() ?? [];
    this.#commands.delete(exec);
    this.#collectCredentials();
    return summaries;
  }

  clear(): void {
    this.#commands.clear();
    this.#collectCredentials();
  }

  answered(host: string, port: number, allow: boolean): void {
    for (const { rules, answers } of this.#commands.values()) {
      if (rules.ask === true) answers.set(keyOf(host, port), allow);
    }
  }

  /** The first command that permits it; a denial of any of them is the same policy's. */
  decide(name: string, port: number | null): BridgeDecision {
    if (this.blocked.has(name)) return { ...refused(deniedByPerson), by: null, asker: null };
    let denied: BridgeDecision = { ...refused('no command runs'), by: null, asker: null };
    for (const [exec, { rules, decider, answers }] of this.#commands) {
      const decision = decider.decide(name, port);
      if (decision.isAllowed) return { ...decision, by: decider, asker: null };
      const isUnnamed = decision.rule === notAllowedRule;
      const answer = port === null ? undefined : answers.get(keyOf(name, port));
      if (isUnnamed && answer === true) {
        return { isAllowed: true, rule: allowedByPerson, by: decider, asker: null };
      }
      const rule = answer === false ? deniedByPerson : decision.rule;
      const isAsked = isUnnamed && rules.ask === true && answer === undefined;
      denied = { isAllowed: false, rule, by: null, asker: isAsked ? exec : denied.asker };
    }
    return denied;
  }

  /** Whether what may pass to a permitted host depends on its requests. */
  decidesRequests(name: string, port: number): boolean {
    if (this.#credentials.isFor(name, port)) return true;
    const commands = [...this.#commands.values()];
    if (commands.some(({ decider }) => decider.deniesRequests(name, port))) return true;
    const permitting = commands.filter((one) => permits(one, name, port));
    return permitting.every(({ decider }) => decider.allowsRequests(name, port));
  }

  decideRequest(name: string, port: number, request: HttpRequest): NetworkDecision {
    let denied = refused('no command runs');
    const commands = [...this.#commands.values()];
    for (const { decider } of commands) {
      const denial = decider.requestDenial(name, port, request);
      if (denial !== null) return denial;
    }
    for (const command of commands.filter((one) => permits(one, name, port))) {
      const decision = command.decider.decideRequest(name, port, request);
      if (decision.isAllowed) return decision;
      // No rule names the host: a person allowed all of it.
      if (decision.rule === notAllowedRule) return { isAllowed: true, rule: allowedByPerson };
      denied = decision;
    }
    return denied;
  }

  /**
   * What is sent passes through it; `null`: nothing is looked for in it.
   *
   * @param isReadable whether placeholders would show in it
   */
  guardFor(name: string, port: number, isReadable: boolean): Transform | null {
    const take = (bytes: number): void => this.takeUpload(name, port, bytes);
    if (isReadable && !this.#credentials.isEmpty) {
      return this.#credentials.placeholders.guardingStream(take);
    }
    const isLimited = [...this.#commands.values()].some(({ limits }) =>
      limits.hasUploadLimit(name, port),
    );
    return isLimited ? meteredStream(take) : null;
  }

  /** Counts for each command: whose bytes they are is not known. @throws LimitReached */
  takeUpload(name: string, port: number, bytes: number): void {
    for (const { limits } of this.#commands.values()) limits.takeUpload(name, port, bytes);
  }

  /** @throws LimitReached */
  takeConnection(name: string, port: number): void {
    for (const { limits } of this.#commands.values()) limits.takeConnection(name, port);
  }

  /** An address that a rule names; `null`: none does. */
  namedAddress(address: string, port: number): string | null {
    const isNamed = this.deciders.some(({ addresses }) =>
      addresses.some((one) => one.address === address && one.port === port),
    );
    return isNamed ? address : null;
  }

  record(record: ConnectionRecord): void {
    for (const { log } of this.#commands.values()) log.add(record);
  }

  /** A connection to a host, whose bytes are counted. */
  watch(record: ConnectionRecord, upstream: Socket, address: string): void {
    for (const { log } of this.#commands.values()) log.watch(record, upstream, address);
  }

  /** A request that was seen, and passes. */
  recordRequest(
    host: string,
    port: number,
    seen: { readonly request: HttpRequest; readonly secrets: readonly string[] },
  ): void {
    for (const { log } of this.#commands.values()) log.addRequest(host, port, seen);
  }

  #collectCredentials(): void {
    const all = [...this.#commands.values()].flatMap(({ rules }) => rules.credentials ?? []);
    const distinct = new Map(all.map((one) => [JSON.stringify(one), one]));
    if (distinct.size === 0 && this.#credentials.isEmpty) return;
    this.#credentials = new CredentialSet([...distinct.values()]);
  }
}

const permits = ({ decider, answers }: Command, name: string, port: number): boolean => {
  const decision = decider.decide(name, port);
  const isAnswered = answers.get(keyOf(name, port)) === true;
  return decision.isAllowed || (decision.rule === notAllowedRule && isAnswered);
};

export const keyOf = (host: string, port: number): string => `${host}:${port}`;
const refused = (rule: string): NetworkDecision => ({ isAllowed: false, rule });
