/**
 * An in-toto Statement v1 about one command. Pure: the caller provides everything, and `redact`
 * hides known secrets in what the command or its caller wrote.
 */
import { reachesNetwork, type NetworkAccess } from '../network-access.ts';
import { hash } from 'node:crypto';
import { pathToFileURL } from 'node:url';
import { canonicalJson } from '../canonical.ts';
import type { RecordedChanges } from '../change.ts';
import type { AssuranceLevel, ExecId, Exit, FileGrants, SessionId } from '../command.ts';
import type { RawLog } from '../redacted.ts';
import type {
  CommandPredicate,
  ResourceDescriptor,
  ProvenanceStatement,
  StatementSubject,
} from './predicate.ts';
import type { CommandProgram } from './programs.ts';
import { collectSubjects, type RedactKnownSecrets } from './subjects.ts';

/** What is known about a command when it starts. Its texts are already masked. */
export interface CommandBasis {
  readonly session: SessionId;
  /** Who requested it. */
  readonly requester: string;
  readonly command: string;
  /** Of the text before it was masked or truncated. */
  readonly command_bytes: number;
  readonly shell: string;
  readonly cwd: string | null;
  readonly mode: 'foreground' | 'detached';
  /** Names only: those of runtime and session, and those of this command. */
  readonly env: readonly string[];
  readonly command_env: readonly string[];
  /** What its output showed although it looks like a secret, see `Plan.reveal`. */
  readonly reveal?: readonly string[];
  readonly stdin: 'closed' | 'bytes' | 'open';
  readonly pty: boolean;
  readonly plan_digest: string;
  readonly box_digest: string;
  readonly verdict: {
    readonly decision: 'allow' | 'ask' | 'block';
    readonly policy: { readonly name: string; readonly version: string };
    readonly rules: readonly string[];
  };
  readonly approval: {
    readonly id: string;
    readonly digest: string;
    readonly scope: 'once' | 'session' | 'project';
    readonly by: string;
    readonly proof: string;
    /** Unix ms. */
    readonly at: number;
  } | null;
  readonly sandbox: {
    readonly kind: 'bubblewrap' | 'none';
    readonly level: AssuranceLevel;
    readonly network: NetworkAccess;
    /** SHA-256 (hex) of what the sandbox lets the command read and write. */
    readonly scope: string;
    readonly files: FileGrants;
    readonly beyond: readonly string[];
  };
}

/** Everything that is needed for a statement. */
export interface CommandRecord {
  readonly id: ExecId;
  readonly basis: CommandBasis;
  readonly exit: Exit;
  /** `null`: nothing was recorded, for example without a workspace. */
  readonly recorded: RecordedChanges | null;
  /** Commands that ran in the workspace or the session at the same time. Default: none. */
  readonly concurrentExecs?: readonly ExecId[];
  /** SHA-256 (hex) of what was hidden of the workspace; `null`: nothing was. */
  readonly mask: string | null;
  /** The shell, if one started, and the programs that the text names. */
  readonly programs: readonly CommandProgram[];
  /** Names of persisted variables, besides those of the basis. Default: none. */
  readonly persistedVariables?: readonly string[];
  readonly runtime: { readonly version: string; readonly host: string };
  /** Hides known secrets in names of files. */
  readonly redact: RedactKnownSecrets;
}

/** Limit in bytes of JSON for a list that people or commands can make long. */
const listBytesMax = 16 * 1024;

export function buildStatement(record: CommandRecord): ProvenanceStatement {
  const made = record.recorded === null ? null : collectSubjects(record.recorded, record.redact);
  return {
    _type: 'https://in-toto.io/Statement/v1',
    subject: made?.subjects ?? outputSubjects(record),
    predicateType: 'https://trl.dev/provenance/command/v1',
    predicate: predicateOf(record, made?.changes ?? null),
  };
}

/** The bytes of an envelope's payload. */
export const statementPayload = (statement: ProvenanceStatement): Buffer =>
  Buffer.from(canonicalJson(statement));

/** Without a workspace the subject is the output. */
function outputSubjects({ exit }: CommandRecord): StatementSubject[] {
  const streams = [
    ['stdout', exit.stdout_sha256],
    ['stderr', exit.stderr_sha256],
  ] as const;
  return streams.map(([stream, sha256]) => ({
    name: stream,
    digest: { sha256 },
    annotations: { stream },
  }));
}

function predicateOf(
  record: CommandRecord,
  changes: CommandPredicate['changes'],
): CommandPredicate {
  const { id, basis, exit, programs } = record;
  const { verdict, approval, sandbox } = basis;
  const isComplete = readsComplete(record);
  const projection = projectionOf(record);
  const found = programs.map(programOf).filter((one) => one !== null);
  const missing = programs.filter(({ path }) => path === null).map(({ name }) => name);
  const { read, write } = sandbox.files;
  const truncated = new ListTruncation();
  return {
    exec_id: id,
    session_id: basis.session,
    actor: basis.requester,
    command: {
      text: basis.command,
      bytes: basis.command_bytes,
      shell: basis.shell,
      cwd: basis.cwd,
      mode: basis.mode,
      stdin: basis.stdin,
      pty: basis.pty,
    },
    plan_digest: basis.plan_digest,
    verdict: {
      decision: verdict.decision,
      policy: { name: verdict.policy.name, version: verdict.policy.version },
      rules: truncated.list(verdict.rules),
    },
    approval: approval === null ? null : approvalOf(approval),
    environment: { names: truncated.list(namesOf(record)) },
    sandbox: {
      kind: sandbox.kind,
      level: sandbox.level,
      network: sandbox.network,
      box_digest: basis.box_digest,
    },
    grants: {
      read: { allow: truncated.list(read.allow), deny: truncated.list(read.deny) },
      write: { allow: truncated.list(write.allow), deny: truncated.list(write.deny) },
      beyond: truncated.list(sandbox.beyond),
    },
    limits: exit.limits.map(({ name, value, by, hit }) => ({ name, value, by, hit })),
    result: resultOf(exit),
    materials: [
      { name: 'projection', digest: { sha256: digestOf(projection) } },
      ...truncated.list(found),
    ],
    materials_missing: truncated.list(missing),
    omitted: truncated.omitted,
    reads: 'projection',
    reads_complete: isComplete,
    reads_about: readsAbout(record, isComplete),
    projection,
    changes,
    logs: logsOf(exit),
    redactions: redactionsOf(exit),
    builder: { id: 'https://trl.dev/runtime', ...record.runtime },
  };
}

function approvalOf(
  approval: NonNullable<CommandBasis['approval']>,
): NonNullable<CommandPredicate['approval']> {
  const { id, digest, scope, by, proof, at } = approval;
  return { id, digest, scope, by, proof, at: new Date(at).toISOString() };
}

const namesOf = ({ basis, persistedVariables = [] }: CommandRecord): string[] =>
  [...new Set([...basis.env, ...basis.command_env, ...persistedVariables])].toSorted();

/** Truncates lists, and counts what it omits. */
class ListTruncation {
  omitted = 0;

  list<Item>(items: readonly Item[]): Item[] {
    let bytes = 0;
    const kept = items.filter((item) => {
      bytes += Buffer.byteLength(JSON.stringify(item)) + 1;
      return bytes <= listBytesMax;
    });
    this.omitted += items.length - kept.length;
    return kept;
  }
}

function logsOf(exit: Exit): CommandPredicate['logs'] {
  return {
    stdout: { sha256: exit.stdout_sha256, bytes: exit.stdout_bytes },
    stderr: { sha256: exit.stderr_sha256, bytes: exit.stderr_bytes },
    raw_log: exit.raw_log === null ? null : rawLogOf(exit.raw_log),
  };
}

function rawLogOf({
  sha256,
  bytes,
  complete,
  recipients,
}: RawLog): CommandPredicate['logs']['raw_log'] {
  return { sha256, bytes, complete, recipients: [...recipients] };
}

function redactionsOf({ redactions }: Exit): CommandPredicate['redactions'] {
  if (redactions === null) return null;
  const { count, entries, omitted } = redactions;
  return { count, distinct: entries.length + omitted };
}

function resultOf(exit: Exit): CommandPredicate['result'] {
  return {
    exit_code: exit.exit_code,
    signal: exit.signal,
    timed_out: exit.timed_out,
    stopped: exit.stopped,
    started_at: new Date(exit.started_at).toISOString(),
    ended_at: new Date(exit.ended_at).toISOString(),
    ended_background: exit.ended_background,
    survivors: exit.survivors.length,
  };
}

function projectionOf(record: CommandRecord): CommandPredicate['projection'] {
  const { recorded, mask, basis, concurrentExecs = [] } = record;
  const writers = recorded?.changes.flatMap((one) => one.concurrentWith) ?? [];
  const others = new Set<ExecId>([...writers, ...concurrentExecs]);
  return {
    tree: recorded?.snapshot.before ?? null,
    mask,
    policy: basis.verdict.policy.version,
    scope: basis.sandbox.scope,
    network: basis.sandbox.network,
    concurrent_with: [...others].toSorted(),
  };
}

/** `null`: no program was found for the name. */
function programOf({
  name,
  role,
  path,
  sha256,
  identity,
}: CommandProgram): ResourceDescriptor | null {
  if (path === null) return null;
  return {
    name,
    uri: pathToFileURL(path).href,
    ...(sha256 === null ? {} : { digest: { sha256 } }),
    annotations: { role, ...(identity === null ? {} : { identity }) },
  };
}

function readsComplete({ basis, recorded }: CommandRecord): boolean {
  const { kind, level, network } = basis.sandbox;
  const isConfined = kind !== 'none' && level === 'full' && network === 'off';
  return isConfined && recorded !== null && recorded.complete;
}

function readsAbout({ basis, recorded }: CommandRecord, isComplete: boolean): string {
  const { kind, network } = basis.sandbox;
  const bound =
    'An upper bound, not what was read: whatever the projection, its grants and the system ' +
    'directories show could be read, and so could what the caller gave, what earlier ' +
    'commands of the session left in its private directories, and what anybody else wrote into ' +
    'the workspace meanwhile';
  if (isComplete) return `${bound}; the sandbox kept everything else out of reach.`;
  if (kind === 'none') return `${bound}; without a sandbox anything else could be, too.`;
  if (reachesNetwork(network)) return `${bound}; so could anything that the network gave.`;
  if (recorded === null) return `${bound}; nothing was recorded of a workspace.`;
  return `${bound}; the sandbox or the record is not complete, so more may have been read.`;
}

const digestOf = (value: unknown): string => hash('sha256', canonicalJson(value));
