/** Signs the facts about each command that has ended: an in-toto statement in a DSSE envelope. */
import type { KeyObject } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import type { Json } from '../../audit/event.ts';
import type { Change } from '../../change.ts';
import type { ContentRole } from '../../binding.ts';
import type { ExecId } from '../../command.ts';
import { limits } from '../../limits.ts';
import { version } from '../../protocol/version.ts';
import {
  ed25519Signer,
  inTotoPayload,
  signEnvelope,
  type DsseSigner,
} from '../../provenance/dsse.ts';
import { displayPath } from '../../provenance/logged-events.ts';
import { ProgramDigests, type CommandProgram } from '../../provenance/programs.ts';
import { statementPayload, buildStatement } from '../../provenance/statement.ts';
import type { Masking } from '../secrets/masking.ts';
import type { ExecutionOutcome } from '../../execution.ts';
import type { ExecBasis } from './exec-basis.ts';
import { maskValues } from './mask-values.ts';
import type { StatementSigner } from './exec-recorder.ts';

/** The most programs of a command whose contents are examined. */
const programsMax = 32;
/** How many file names are processed before other work may run; they take some milliseconds. */
const namesAtOnce = 200;

export class ExecStatementSigner implements StatementSigner {
  readonly #key: () => KeyObject;
  readonly #masking: Pick<Masking, 'deep' | 'text'>;
  readonly #programs = new ProgramDigests();
  #signer: DsseSigner | null = null;

  /** @param key private ed25519 key of the log; read when the log has it */
  constructor(key: () => KeyObject, masking: Pick<Masking, 'deep' | 'text'>) {
    this.#key = key;
    this.#masking = masking;
  }

  prepare(basis: ExecBasis): void {
    for (const { path } of programsOf(basis)) {
      if (path !== null) void this.#programs.learn(path);
    }
  }

  /** @throws TrlError `AUDIT_UNAVAILABLE` without a key */
  async sign(
    id: ExecId,
    started: ExecBasis,
    { exit, recorded }: Omit<ExecutionOutcome, 'audit'>,
    beside: readonly ExecId[],
  ): Promise<Json> {
    const shown = await this.#shownNames(recorded?.changes ?? []);
    // Secrets that became known during the command are masked now: a signed text cannot be masked
    // later.
    const basis = maskValues(started, this.#masking);
    const programs = programsOf(basis).map((one) => ({
      ...one,
      ...(one.path === null ? {} : this.#programs.of(one.path)),
    }));
    const statement = buildStatement({
      id,
      basis,
      exit,
      recorded,
      concurrentExecs: beside,
      programs,
      mask: basis.mask,
      persistedVariables: exit.state_names.map((name) => this.#masking.text(name)),
      runtime: { version: version(), host: `${process.platform}-${process.arch}` },
      redact: (text) => shown.get(text) ?? this.#masking.text(text),
    });
    // With many names, each step alone may take a whole time slice.
    if (shown.size >= namesAtOnce) await setImmediate();
    this.#signer ??= ed25519Signer(this.#key());
    const { payload, payloadType, signatures } = signEnvelope(
      inTotoPayload,
      statementPayload(statement),
      [this.#signer],
    );
    return { payload, payloadType, signatures: signatures.map((one) => ({ ...one })) };
  }

  /** Masks known secrets in file names, a few at a time so that other work can run. */
  async #shownNames(changes: readonly Change[]): Promise<ReadonlyMap<string, string>> {
    const shown = new Map<string, string>();
    for (const { path } of changes.slice(0, limits.statementSubjects.max)) {
      const name = displayPath(path);
      shown.set(name, this.#masking.text(name));
      if (shown.size % namesAtOnce === 0) await setImmediate();
    }
    return shown;
  }
}

const isProgram = (role: ContentRole): role is Exclude<CommandProgram['role'], 'shell'> =>
  role === 'executable' || role === 'script' || role === 'package-script';

/** The shell, if one started, and the programs that the text names. */
function programsOf({ shell, contents }: ExecBasis): CommandProgram[] {
  const unread = { sha256: null, identity: null };
  const named = contents.flatMap(({ name, role, path }) =>
    isProgram(role) ? { name, role, path, ...unread } : [],
  );
  const started: CommandProgram = { name: shell, role: 'shell', path: shell, ...unread };
  return [started, ...named].slice(0, programsMax);
}
