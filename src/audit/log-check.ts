/** The check of one log, and its report. */
import type { KeyObject } from 'node:crypto';
import { AuditFindings, type AuditFinding } from './audit-findings.ts';
import type { MerkleTree } from './merkle.ts';
import { verifyHeadNote } from './signed-note.ts';
import { HeadSignatures, LineVerifier } from './line-verifier.ts';
import type { TornWrite } from './store.ts';

export interface LogReport {
  readonly directory: string;
  /** 32 lower-case hex digits; `null`: it has no head. */
  readonly log: string | null;
  readonly events: number;
  readonly heads: number;
  readonly bytes: number;
  /** The newest valid one: worth saving elsewhere. */
  readonly head: string | null;
  /** There are no findings. */
  readonly isGood: boolean;
  /** The first of them; `findingCount` is all. */
  readonly findings: readonly AuditFinding[];
  readonly findingCount: number;
  /** Torn writes that were preserved, according to the log. */
  readonly repaired: readonly TornWrite[];
}

export interface LogCheckOptions {
  readonly publicKey: KeyObject;
  /** Signed notes that were saved elsewhere, of this log or of others. */
  readonly heads?: readonly string[] | undefined;
}

export class LogCheck {
  readonly findings = new AuditFindings();
  readonly pass: LineVerifier;
  readonly #signatures: HeadSignatures;
  readonly #saved: SavedHeads;

  constructor(options: LogCheckOptions) {
    this.#signatures = new HeadSignatures(options.publicKey);
    this.#saved = new SavedHeads(options, this.findings);
    const onSize = (size: number, tree: MerkleTree): void => this.#saved.visit(size, tree);
    this.pass = new LineVerifier(this.#signatures, this.findings, onSize);
  }

  /** To be called after each line: waits while too many signatures are being checked. */
  async waitForRoom(): Promise<void> {
    if (this.#signatures.isFull) await this.#signatures.waitForRoom();
  }

  async report(directory: string, bytes: number): Promise<LogReport> {
    await this.#signatures.waitForAll();
    for (const { segment, offset, size } of this.#signatures.bad) {
      const text = `The head over ${size} events was not signed by this key.`;
      this.findings.add('head.signature', { segment, offset, seq: size }, text);
    }
    this.#saved.end(this.pass);
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

/** Findings about missing or duplicate logs, and about heads that another key signed. */
export function findMissingLogs(
  options: LogCheckOptions,
  logs: readonly LogReport[],
): AuditFinding[] {
  const missing = new AuditFindings();
  const known = new Set(logs.map(({ log }) => log));
  for (const note of options.heads ?? []) {
    const saved = verifyHeadNote(note, options.publicKey);
    if (saved === null) {
      missing.add('key.changed', {}, 'A head that was saved elsewhere was not signed by this key.');
    } else if (!known.has(saved.log)) {
      const text = `Log ${saved.log} is missing; a head of it over ${saved.size} events was saved.`;
      missing.add('log.missing', {}, text);
    }
  }
  for (const [at, { log, directory }] of logs.entries()) {
    const first = logs.slice(0, at).find((one) => log !== null && one.log === log);
    if (first === undefined) continue;
    const text = `Log ${log} exists twice, in "${first.directory}" and "${directory}".`;
    missing.add('log.forked', {}, text);
  }
  return missing.sorted();
}

/** Compares heads that were saved elsewhere with the log. */
class SavedHeads {
  readonly #all: { readonly log: string; readonly size: number; readonly root: Buffer }[];
  readonly #sizes: ReadonlySet<number>;
  readonly #roots = new Map<number, Buffer>();
  readonly #findings: AuditFindings;

  constructor({ heads = [], publicKey }: LogCheckOptions, findings: AuditFindings) {
    this.#all = heads.map((note) => verifyHeadNote(note, publicKey)).filter((one) => one !== null);
    this.#sizes = new Set(this.#all.map(({ size }) => size));
    this.#findings = findings;
  }

  visit(size: number, tree: MerkleTree): void {
    if (this.#sizes.has(size)) this.#roots.set(size, tree.root());
  }

  end({ log, size: there }: LineVerifier): void {
    for (const { size, root } of this.#all.filter((one) => one.log === log)) {
      const found = this.#roots.get(size);
      if (size > there) {
        const text = `A head over ${size} events was saved elsewhere; ${there} are here.`;
        this.#findings.add('log.truncated', { seq: there }, text);
      } else if (found !== undefined && !found.equals(root)) {
        const text = `A head over ${size} events that was saved elsewhere covers other events.`;
        this.#findings.add('log.forked', { seq: size }, text);
      }
    }
  }
}
