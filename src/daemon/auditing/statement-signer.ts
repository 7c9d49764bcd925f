/** Signs what is known of each command that has ended: an in-toto statement in a DSSE envelope. */
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

/** Programs of one command whose contents are looked at. */
const programsMax = 32;
/** Names of files that are looked through in one turn, some milliseconds. */
const namesAtOnce = 200;

export class ExecStatementSigner implements StatementSigner {
  readonly #key: () => KeyObject;
  readonly #masking: Pick<Masking, 'deep' | 'text'>;
  readonly #programs = new ProgramDigests();
  #signer: DsseSigner | null = null;

  /** @param key private, ed25519: the log's. Asked for when the log has it */
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
    // What became known while it ran is hidden now: what is signed cannot be masked any more.
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
    // Of many names each step by itself takes what a turn may take.
    if (shown.size >= namesAtOnce) await setImmediate();
    this.#signer ??= ed25519Signer(this.#key());
    const { payload, payloadType, signatures } = signEnvelope(
      inTotoPayload,
      statementPayload(statement),
      [this.#signer],
    );
    return { payload, payloadType, signatures: signatures.map((one) => ({ ...one })) };
  }

  /** Names of files with what is known to be secret hidden, a few at a time: others have a turn. */
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

/** The shell, where one started, and what the text names. */
function programsOf({ shell, contents }: ExecBasis): CommandProgram[] {
  const unread = { sha256: null, identity: null };
  const named = contents.flatMap(({ name, role, path }) =>
    isProgram(role) ? { name, role, path, ...unread } : [],
  );
  const started: CommandProgram = { name: shell, role: 'shell', path: shell, ...unread };
  return [started, ...named].slice(0, programsMax);
}
