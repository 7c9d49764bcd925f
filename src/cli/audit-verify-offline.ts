/** `trl audit verify --proof` and `--export`: what was taken out of a log, checked without it. */
import type { KeyObject } from 'node:crypto';
import { verifyExport } from '../audit/export.ts';
import { checkEventProof } from '../audit/prove.ts';
import { TrlError } from '../errors.ts';
import { jsonField } from '../provenance/logged-events.ts';
import { printableEventLine } from './audit-lines.ts';
import { verifyReportJson, printVerifyReport, readArgumentFile } from './audit-verify.ts';
import { printMessage, printJson } from './print.ts';

interface Given {
  /** `null`: the one that the file brings along, which then has to be known otherwise. */
  readonly key: KeyObject | null;
  readonly json: boolean;
}

/** Exit code 0 when the event is what a head covers that the key signed, else 1. */
export function verifyProofFile(file: string, { key, json }: Given): number {
  const proof = parsed(file);
  const report = checkEventProof(proof, key ?? undefined);
  const { isGood, reason, event, head } = report;
  if (json) printJson({ good: isGood, reason, key: report.key, event, log: head?.log ?? null });
  if (!isGood || event === null || head === null) {
    if (!json) printMessage(`the proof is NOT good: ${reason ?? ''}`);
    return 1;
  }
  if (json) return 0;
  process.stdout.write(`${printableEventLine({ log: head.log, seq: seqOf(proof), event })}\n`);
  printMessage(
    `the event is in log ${head.log}, whose head over ${head.size} events key ${report.key} signed`,
  );
  if (key === null) printMessage(unknownKey);
  return 0;
}

/** Exit code 0 when nothing was found, else 1. */
export async function verifyExportFile(
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
  if (json) printJson(verifyReportJson(report, [], report.isGood));
  else printVerifyReport(report, [], { isGood: report.isGood, heads: heads.length });
  if (!json && key === null) printMessage(unknownKey);
  return report.isGood ? 0 : 1;
}

const unknownKey =
  'it was checked with the key that it brings along: compare it, or name yours with --key';

function parsed(file: string): unknown {
  try {
    return JSON.parse(readArgumentFile(file));
  } catch (cause) {
    if (cause instanceof TrlError) throw cause;
    throw new TrlError('INVALID_PARAMS', `Cannot read "${file}": it is no JSON`, { cause });
  }
}

function seqOf(proof: unknown): number {
  const seq = jsonField(proof, 'seq');
  return typeof seq === 'number' ? seq : 0;
}
