/** `trl audit verify --proof` and `--export`: what was taken out of a log, checked without it. */
import type { KeyObject } from 'node:crypto';
import { verifyExport } from '../audit/export.ts';
import { checkProof } from '../audit/prove.ts';
import { TrlError } from '../errors.ts';
import { field } from '../provenance/told.ts';
import { lineOf } from './audit-lines.ts';
import { answerOf, tellReport, textOf } from './audit-verify.ts';
import { say, sayJson } from './show.ts';

interface Given {
  /** `null`: the one that the file brings along, which then has to be known otherwise. */
  readonly key: KeyObject | null;
  readonly json: boolean;
}

/** Exit code 0 when the event is what a head covers that the key signed, else 1. */
export function verifyProof(file: string, { key, json }: Given): number {
  const proof = parsed(file);
  const report = checkProof(proof, key ?? undefined);
  const { isGood, reason, event, head } = report;
  if (json) sayJson({ good: isGood, reason, key: report.key, event, log: head?.log ?? null });
  if (!isGood || event === null || head === null) {
    if (!json) say(`the proof is NOT good: ${reason ?? ''}`);
    return 1;
  }
  if (json) return 0;
  process.stdout.write(`${lineOf({ log: head.log, seq: seqOf(proof), event })}\n`);
  say(
    `the event is in log ${head.log}, whose head over ${head.size} events key ${report.key} signed`,
  );
  if (key === null) say(unknownKey);
  return 0;
}

/** Exit code 0 when nothing was found, else 1. */
export async function verifyExported(
  file: string,
  { key, json, heads }: Given & { readonly heads: readonly string[] },
): Promise<number> {
  // It says in words what it cannot read.
  const report = await verifyExport({ file, publicKey: key ?? undefined, heads }).catch(
    (cause: unknown) => {
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new TrlError('INVALID_PARAMS', `Cannot read "${file}": ${why}`, { cause });
    },
  );
  if (json) sayJson(answerOf(report, [], report.isGood));
  else tellReport(report, [], { isGood: report.isGood, heads: heads.length });
  if (!json && key === null) say(unknownKey);
  return report.isGood ? 0 : 1;
}

const unknownKey =
  'it was checked with the key that it brings along: compare it, or name yours with --key';

function parsed(file: string): unknown {
  try {
    return JSON.parse(textOf(file));
  } catch (cause) {
    if (cause instanceof TrlError) throw cause;
    throw new TrlError('INVALID_PARAMS', `Cannot read "${file}": it is no JSON`, { cause });
  }
}

function seqOf(proof: unknown): number {
  const seq = field(proof, 'seq');
  return typeof seq === 'number' ? seq : 0;
}
