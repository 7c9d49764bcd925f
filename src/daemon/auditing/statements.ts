/** Signs what is known of each command that has ended: an in-toto statement in a DSSE envelope. */
import type { KeyObject } from 'node:crypto';
import type { Json } from '../../audit/event.ts';
import type { ExecId } from '../../command.ts';
import { version } from '../../protocol/version.ts';
import { ed25519Signer, inTotoPayload, seal, type Signer } from '../../provenance/dsse.ts';
import { ProgramDigests, type Program } from '../../provenance/programs.ts';
import { payloadOf, statementOf } from '../../provenance/statement.ts';
import type { Masking } from '../masking.ts';
import type { Outcome } from '../../run.ts';
import type { ExecBasis } from './basis.ts';
import { masked } from './masked.ts';
import type { Stating } from './exec-recorder.ts';

/** Programs of one command whose contents are looked at. */
const programsMax = 32;

export class Statements implements Stating {
  readonly #key: () => KeyObject;
  readonly #masking: Pick<Masking, 'deep' | 'text'>;
  readonly #programs = new ProgramDigests();
  #signer: Signer | null = null;

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
  state(id: ExecId, started: ExecBasis, { exit, recorded }: Omit<Outcome, 'audit'>): Json {
    // What became known while it ran is hidden now: what is signed cannot be masked any more.
    const basis = masked(started, this.#masking);
    const programs = programsOf(basis).map((one) => ({
      ...one,
      ...(one.path === null ? {} : this.#programs.of(one.path)),
    }));
    const statement = statementOf({
      id,
      basis,
      exit,
      recorded,
      programs,
      mask: basis.mask,
      carried: exit.state_names.map((name) => this.#masking.text(name)),
      runtime: { version: version(), host: `${process.platform}-${process.arch}` },
      redact: (text) => this.#masking.text(text),
    });
    this.#signer ??= ed25519Signer(this.#key());
    const { payload, payloadType, signatures } = seal(inTotoPayload, payloadOf(statement), [
      this.#signer,
    ]);
    return { payload, payloadType, signatures: signatures.map((one) => ({ ...one })) };
  }
}

/** The shell, where one started, and what the text names. */
function programsOf({ shell, contents }: ExecBasis): Program[] {
  const unread = { sha256: null, identity: null };
  const named = contents.map(({ name, role, path }) => ({ name, role, path, ...unread }));
  const started: Program = { name: shell, role: 'shell', path: shell, ...unread };
  return [started, ...named].slice(0, programsMax);
}
