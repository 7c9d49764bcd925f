/** How a session's commands reach the network, and what each way means for its sandbox. */

/**
 * `off`: a loopback of the session's own and nothing else. `hosts`: the hosts of its rules, through
 * the bridge. `open`: every public host, through the bridge. `host`: the host's own network.
 */
export const networkAccessModes = ['off', 'hosts', 'open', 'host'] as const;
export type NetworkAccess = (typeof networkAccessModes)[number];

/** `on` was the word for `host`; it is still read. */
export const requestedNetworkModes = [...networkAccessModes, 'on'] as const;
export type RequestedNetwork = (typeof requestedNetworkModes)[number];

/** A word that no version wrote, as a later one's in a stored session, opens nothing. */
export function normalNetworkAccess(word: RequestedNetwork): NetworkAccess {
  switch (word) {
    case 'off':
    case 'hosts':
    case 'open':
    case 'host':
      return word;
    case 'on':
      return 'host';
    default:
      // Every known word has its case above, by the compiler.
      word satisfies never;
      return 'off';
  }
}

/** Whether a session has a network namespace of its own. */
export function hasOwnNetwork(network: NetworkAccess): boolean {
  switch (network) {
    case 'off':
    case 'hosts':
    case 'open':
      return true;
    case 'host':
      return false;
  }
}

/** Whether its own network namespace leads to hosts, through the bridge. */
export function isBridged(network: NetworkAccess): network is 'hosts' | 'open' {
  switch (network) {
    case 'hosts':
    case 'open':
      return true;
    case 'off':
    case 'host':
      return false;
  }
}

/** Whether anything outside the sandbox can be reached. */
export function reachesNetwork(network: NetworkAccess): boolean {
  switch (network) {
    case 'off':
      return false;
    case 'hosts':
    case 'open':
    case 'host':
      return true;
  }
}

/** For a person, as what a command reaches. */
export function networkText(network: NetworkAccess, hosts: readonly string[] = []): string {
  switch (network) {
    case 'off':
      return 'off';
    case 'hosts':
      return `hosts: ${hosts.length === 0 ? 'those that are allowed' : hosts.join(', ')}`;
    case 'open':
      return 'OPEN: any public host';
    case 'host':
      return "HOST: this machine's own network";
  }
}

/**
 * `bundle`: PEM, all that is trusted. `added`: PEM, what is trusted beyond the host's. `java`: a
 * trust store. `chromium`: a policy with what is trusted beyond its own.
 */
export type TrustFormat = 'bundle' | 'added' | 'java' | 'chromium';

/** What programs of a bridged session trust: the host's certificates, and its own authority. */
export interface BridgedView {
  /** The host's certificates, PEM; `null`: it has no list, and Node's is taken. */
  readonly bundle: string | null;
  /** Certificates beside them, PEM. */
  readonly roots: readonly string[];
  /** Files of the view, which the runner makes with the session's authority. */
  readonly trust: readonly { readonly fd: number; readonly as: TrustFormat }[];
}

/** What a command may reach through the bridge; field names are the runner's wire. */
export interface EgressRules {
  readonly mode: 'hosts' | 'open';
  /** Connections to hosts that no rule names are held while a person is asked; absent: refused. */
  readonly ask?: true;
  /** Host rules as text: `example.com`, `*.example.com:8443`. */
  readonly allow: readonly string[];
  /** Beats `allow` and `open`. */
  readonly deny: readonly string[];
  /** Names that may lead to private addresses. */
  readonly private: readonly string[];
  /**
   * Where a name is served instead, as `address:port` (`[address]:port` for IPv6), in any range:
   * a person wrote it.
   */
  readonly connect: Readonly<Record<string, string>>;
  /** Through which other names are reached; absent: none. */
  readonly proxy?: UpstreamProxy;
  /** Absent: none. */
  readonly credentials?: readonly BrokeredCredential[];
}

/** A proxy that takes CONNECT, for every port. */
export interface UpstreamProxy {
  readonly host: string;
  readonly port: number;
  /** Whether TLS leads to it. */
  readonly isSecure: boolean;
  /** Value of `Proxy-Authorization`; absent: none is sent. */
  readonly authorization?: string;
  /** Entries of `NO_PROXY`. */
  readonly bypass: readonly string[];
}

/** A secret that a command uses and never has: the bridge puts it into requests. */
export interface BrokeredCredential extends BrokerRule {
  /** Of the secret. */
  readonly name: string;
  /** What the command has in its place. */
  readonly placeholder: string;
  readonly value: string;
}

/** Where a brokered secret is put into requests. */
export interface BrokerRule {
  /** Host rules: it is put into requests to these alone. */
  readonly hosts: readonly string[];
  /** Headers that may have it, in lower case; `*`: any. Also inside a `Basic` authorization. */
  readonly headers: readonly string[];
  /** Parameters of the query that may have it. */
  readonly query: readonly string[];
  /** Fields of a JSON or form body, outermost ones, that may have it. */
  readonly body: readonly string[];
  /** How it signs instead: then it is in no header. Absent: it does not. */
  readonly signs?: 'aws4';
  /** Also where there is no TLS; absent: never. A person configured it. */
  readonly plaintext?: true;
}

/** Connections of a command to one host and port through the bridge, summed. */
export interface ConnectionSummary {
  readonly host: string;
  /** 0: the name was looked up, and refused before any connection. */
  readonly port: number;
  /** Address that was dialled last; `null`: none was. */
  readonly address: string | null;
  readonly allowed: boolean;
  /** The rule that decided: its text, `open`, or what was wrong, such as `name mismatch`. */
  readonly rule: string;
  readonly count: number;
  readonly sent_bytes: number;
  readonly received_bytes: number;
  /** Requests that were seen, by method and path; absent: none was. */
  readonly requests?: readonly RequestSummary[];
  /** Names of secrets that were put into requests; absent: none. */
  readonly secrets?: readonly string[];
  /** Several commands of the session ran: it may have been another's. Absent: no. */
  readonly shared?: true;
}

/** A connection of a session's commands through the bridge, as it is now. */
export type LiveConnection = {
  readonly host: string;
  readonly port: number;
  /** `held`: a person is asked. */
  readonly state: 'open' | 'held';
  /** Unix ms. */
  readonly since: number;
  readonly sent_bytes: number;
  readonly received_bytes: number;
};

/** Bound of {@link LiveConnection} entries of one session; more are not listed. */
export const liveConnectionsMax = 200;

/** Requests of a command to one host that are alike. */
export type RequestSummary = {
  readonly method: string;
  /** The first 16 hexadecimal digits of the SHA-256 of the path without its query. */
  readonly path_digest: string;
  readonly count: number;
};

/** Bound of {@link RequestSummary} entries for one host and port; later ones are not listed. */
export const requestSummariesMax = 50;

/** Bound of {@link ConnectionSummary} entries of one command; later hosts are not listed. */
export const connectionSummariesMax = 200;
