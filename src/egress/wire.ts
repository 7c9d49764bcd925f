/**
 * Between the runner and the egress process: messages of Node's IPC channel, in order. Only the
 * runner sends descriptors: the sockets of a session's network namespace.
 */
import type { ExecId } from '../command.ts';
import type { ConnectionSummary, EgressRules, LiveConnection } from '../network-access.ts';

/** A session's network namespace; the runner numbers them. */
export type BridgeId = number;

/** What a session's hosts are certified by inside, and must be certified by outside. PEM. */
export interface BridgeAuthority {
  readonly certificate: string;
  readonly key: string;
  readonly roots: readonly string[];
}

export type EgressRequest =
  /** With a TCP socket that listens in the namespace, as a handle. */
  | { readonly listen: { readonly bridge: BridgeId } }
  /** With the UDP socket of the namespace's resolver. */
  | { readonly resolve: { readonly bridge: BridgeId } }
  /** What terminates TLS of the bridge's hosts where requests must be seen. */
  | { readonly authority: { readonly bridge: BridgeId } & BridgeAuthority }
  /** Names that an earlier egress process gave addresses to. */
  | { readonly named: { readonly bridge: BridgeId; readonly names: readonly string[] } }
  /** A command is about to start. Answered by `begun`. */
  | {
      readonly begin: {
        readonly bridge: BridgeId;
        readonly exec: ExecId;
        readonly rules: EgressRules;
      };
    }
  /** A command has ended. Answered by `ended`. */
  | { readonly end: { readonly bridge: BridgeId; readonly exec: ExecId } }
  /** What the runner was asked for is listened on, or cannot be. */
  | {
      readonly opened: {
        readonly bridge: BridgeId;
        readonly address: string;
        readonly port: number;
      };
    }
  /** What a person said about a host, for the commands that run. */
  | {
      readonly answer: {
        readonly bridge: BridgeId;
        readonly host: string;
        readonly port: number;
        readonly allow: boolean;
      };
    }
  /** A person wants no connection of the session to this name: none goes on, none is made. */
  | { readonly block: { readonly bridge: BridgeId; readonly host: string } }
  /** Answered by `live`, with the same number. */
  | { readonly list: { readonly bridge: BridgeId; readonly number: number } }
  | { readonly close: { readonly bridge: BridgeId } };

export type EgressEvent =
  | { readonly ready: true }
  | { readonly begun: { readonly exec: ExecId } }
  /** Its rules are none; nothing of the session changed. */
  | { readonly failed: { readonly exec: ExecId; readonly why: string } }
  | {
      readonly ended: { readonly exec: ExecId; readonly connections: readonly ConnectionSummary[] };
    }
  | {
      readonly live: { readonly number: number; readonly connections: readonly LiveConnection[] };
    }
  /** A name got the next address. */
  | { readonly name: { readonly bridge: BridgeId; readonly name: string } }
  /** A connection is held until a person has answered, by `answer`. */
  | {
      readonly ask: {
        readonly bridge: BridgeId;
        readonly exec: ExecId;
        readonly host: string;
        readonly port: number;
      };
    }
  /** Wants a TCP socket that listens on this address and port. Answered by `opened`. */
  | {
      readonly open: { readonly bridge: BridgeId; readonly address: string; readonly port: number };
    };
