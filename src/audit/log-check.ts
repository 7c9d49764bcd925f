/** One log on its way through a check, and what is said of it at the end. */
import type { KeyObject } from 'node:crypto';
import { AuditFindings, type AuditFinding } from './audit-findings.ts';
import type { MerkleTree } from './merkle.ts';
import { verifyHeadNote } from './signed-note.ts';
import { LineVerifier } from './line-verifier.ts';
import { HeadSignatures } from './head-signatures.ts';
import type { TornWrite } from './store.ts';

export interface LogReport {
  readonly directory: string;
  /** 32 lower-case hex digits; `null`: it has no head. */
  readonly log: string | null;
  readonly events: number;
  readonly heads: number;
  readonly bytes: number;
  /** The newest good one: worth keeping elsewhere. */
  readonly head: string | null;
  /** Whether nothing was found. */
  readonly isGood: boolean;
  /** The first of them; `findingCount` is all. */
  readonly findings: readonly AuditFinding[];
  readonly findingCount: number;
  /** Ends that a crash left unfinished, set aside as the log tells. */
  readonly repaired: readonly TornWrite[];
}

export interface LogCheckOptions {
  readonly publicKey: KeyObject;
  /** Signed notes that were kept elsewhere, of this log or of others. */
  readonly heads?: readonly string[] | undefined;
}

export class LogCheck {
  readonly findings = new AuditFindings();
  readonly pass: LineVerifier;
  readonly #signatures: HeadSignatures;
  readonly #kept: KeptHeads;

  constructor(options: LogCheckOptions) {
    this.#signatures = new HeadSignatures(options.publicKey);
    this.#kept = new KeptHeads(options, this.findings);
    const meet = (size: number, tree: MerkleTree): void => this.#kept.meet(size, tree);
    this.pass = new LineVerifier(this.#signatures, this.findings, meet);
  }

  /** After each line: waits where too many signatures are on their way. */
  async waitForRoom(): Promise<void> {
    if (this.#signatures.isFull) await this.#signatures.waitForRoom();
  }

  async report(directory: string, bytes: number): Promise<LogReport> {
    await this.#signatures.waitForAll();
    for (const { segment, offset, size } of this.#signatures.bad) {
      const text = `The head over ${size} events was not signed by this key.`;
      this.findings.add('head.signature', { segment, offset, seq: size }, text);
    }
    this.#kept.end(this.pass);
    const { log, size, heads, repaired } = this.pass;
    return {
      directory,
      log,
      events: size,
      heads,
      bytes,
      head: this.#signatures.newest?.note ?? null,
      isGood: this.findings.count === 0,
      findings: this.findings.sorted(),
      findingCount: this.findings.count,
      repaired,
    };
  }
}

/** Of logs that are not among these, or there twice, and of heads that another key signed. */
export function findMissingLogs(
  options: LogCheckOptions,
  logs: readonly LogReport[],
): AuditFinding[] {
  const missing = new AuditFindings();
  const known = new Set(logs.map(({ log }) => log));
  for (const note of options.heads ?? []) {
    const kept = verifyHeadNote(note, options.publicKey);
    if (kept === null) {
      missing.add('key.changed', {}, 'A head that was kept elsewhere was not signed by this key.');
    } else if (!known.has(kept.log)) {
      const text = `Log ${kept.log} is not here; a head of it over ${kept.size} events was kept.`;
      missing.add('log.missing', {}, text);
    }
  }
  for (const [at, { log, directory }] of logs.entries()) {
    const first = logs.slice(0, at).find((one) => log !== null && one.log === log);
    if (first === undefined) continue;
    const text = `Log ${log} is there twice, in "${first.directory}" and "${directory}".`;
    missing.add('log.forked', {}, text);
  }
  return missing.sorted();
}

/** Heads that were kept elsewhere, against what is there. */
class KeptHeads {
  readonly #all: { readonly log: string; readonly size: number; readonly root: Buffer }[];
  readonly #sizes: ReadonlySet<number>;
  readonly #roots = new Map<number, Buffer>();
  readonly #findings: AuditFindings;

  constructor({ heads = [], publicKey }: LogCheckOptions, findings: AuditFindings) {
    this.#all = heads.map((note) => verifyHeadNote(note, publicKey)).filter((one) => one !== null);
    this.#sizes = new Set(this.#all.map(({ size }) => size));
    this.#findings = findings;
  }

  meet(size: number, tree: MerkleTree): void {
    if (this.#sizes.has(size)) this.#roots.set(size, tree.root());
  }

  end({ log, size: there }: LineVerifier): void {
    for (const { size, root } of this.#all.filter((one) => one.log === log)) {
      const found = this.#roots.get(size);
      if (size > there) {
        const text = `A head over ${size} events was kept elsewhere; ${there} are here.`;
        this.#findings.add('log.truncated', { seq: there }, text);
      } else if (found !== undefined && !found.equals(root)) {
        const text = `A head over ${size} events that was kept elsewhere covers other events.`;
        this.#findings.add('log.forked', { seq: size }, text);
      }
    }
  }
}
