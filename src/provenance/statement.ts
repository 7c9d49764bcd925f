/**
 * What is known of one command as an in-toto Statement v1. Pure: the caller brings everything, and
 * `redact` hides known secrets in whatever the command or its caller wrote.
 */
import { createHash } from 'node:crypto';
import { pathToFileURL } from 'node:url';
import { canonicalJson } from '../canonical.ts';
import type { RecordedChanges } from '../change.ts';
import type { AssuranceLevel, ExecId, Exit, FileGrants, RawLog, SessionId } from '../command.ts';
import type {
  CommandPredicate,
  ResourceDescriptor,
  ProvenanceStatement,
  StatementSubject,
} from './predicate.ts';
import type { CommandProgram } from './programs.ts';
import { collectSubjects, type RedactKnownSecrets } from './subjects.ts';

/** What is known of a command when it starts. Its texts are masked already. */
export interface CommandBasis {
  readonly session: SessionId;
  /** Who asked. */
  readonly requester: string;
  readonly command: string;
  /** Of the text before it was masked or cut. */
  readonly command_bytes: number;
  readonly shell: string;
  readonly cwd: string | null;
  readonly mode: 'foreground' | 'detached';
  /** Names only: of runtime and session, and of this command. */
  readonly env: readonly string[];
  readonly command_env: readonly string[];
  /** What its output showed although it looked secret, see `Plan.reveal`. */
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
    readonly network: 'off' | 'on';
    /** SHA-256 (hex) of what the sandbox shows and lets be written. */
    readonly scope: string;
    readonly files: FileGrants;
    readonly beyond: readonly string[];
  };
}

/** Everything that a statement is made of. */
export interface CommandRecord {
  readonly id: ExecId;
  readonly basis: CommandBasis;
  readonly exit: Exit;
  /** `null`: nothing was recorded, as without a workspace. */
  readonly recorded: RecordedChanges | null;
  /** Commands that ran in the workspace or the session meanwhile. Default: none. */
  readonly concurrentExecs?: readonly ExecId[];
  /** SHA-256 (hex) of what of the workspace was hidden; `null`: nothing was. */
  readonly mask: string | null;
  /** The shell, where one started, and what the text names. */
  readonly programs: readonly CommandProgram[];
  /** Names of variables that carried over, besides those of the basis. Default: none. */
  readonly persistedVariables?: readonly string[];
  readonly runtime: { readonly version: string; readonly host: string };
  /** Hides known secrets in names of files. */
  readonly redact: RedactKnownSecrets;
}

/** Bytes of one list that people or commands can make long, as JSON. */
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

/** What was signed for: the bytes of an envelope's payload. */
export const statementPayload = (statement: ProvenanceStatement): Buffer =>
  Buffer.from(canonicalJson(statement));

/** Without a workspace a command makes its output. */
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
  const cut = new Cut();
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
      rules: cut.list(verdict.rules),
    },
    approval: approval === null ? null : approvalOf(approval),
    environment: { names: cut.list(namesOf(record)) },
    sandbox: {
      kind: sandbox.kind,
      level: sandbox.level,
      network: sandbox.network,
      box_digest: basis.box_digest,
    },
    grants: {
      read: { allow: cut.list(read.allow), deny: cut.list(read.deny) },
      write: { allow: cut.list(write.allow), deny: cut.list(write.deny) },
      beyond: cut.list(sandbox.beyond),
    },
    limits: exit.limits.map(({ name, value, by, hit }) => ({ name, value, by, hit })),
    result: resultOf(exit),
    materials: [
      { name: 'projection', digest: { sha256: digestOf(projection) } },
      ...cut.list(found),
    ],
    materials_missing: cut.list(missing),
    omitted: cut.omitted,
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

const namesOf = ({ basis, persistedVariables: carried = [] }: CommandRecord): string[] =>
  [...new Set([...basis.env, ...basis.command_env, ...carried])].toSorted();

/** Cuts lists, and counts what it leaves out. */
class Cut {
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
  const { recorded, mask, basis, concurrentExecs: beside = [] } = record;
  const told = recorded?.changes.flatMap((one) => one.concurrentWith) ?? [];
  const others = new Set<ExecId>([...told, ...beside]);
  return {
    tree: recorded?.snapshot.before ?? null,
    mask,
    policy: basis.verdict.policy.version,
    scope: basis.sandbox.scope,
    network: basis.sandbox.network,
    concurrent_with: [...others].toSorted(),
  };
}

/** `null`: nothing was found for the name. */
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
  const isHeld = kind !== 'none' && level === 'full' && network === 'off';
  return isHeld && recorded !== null && recorded.complete;
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
  if (network === 'on') return `${bound}; so could anything that the network gave.`;
  if (recorded === null) return `${bound}; nothing was recorded of a workspace.`;
  return `${bound}; the sandbox or the record is not complete, so more may have been read.`;
}

const digestOf = (value: unknown): string =>
  createHash('sha256').update(canonicalJson(value)).digest('hex');
