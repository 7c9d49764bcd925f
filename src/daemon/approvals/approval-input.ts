/**
 * What a command that is asked about gets on standard input, as a person sees it. It is held in
 * memory alone, with the command that waits; known secrets are masked before anything is cut.
 */
import { isUtf8 } from 'node:buffer';
import type { StdinChoice } from '../../command.ts';
import type { ApprovalInputView } from '../../api/approval.ts';

/** Characters that are shown. */
const shownMax = 8 * 1024;
/** Bytes that are looked at: no known secret reaches from what is shown to beyond them. */
const readMax = 256 * 1024;

/** `null`: there is none that could be shown. */
export function approvalInputView(
  stdin: StdinChoice | null,
  mask: (text: string) => string,
): ApprovalInputView | null {
  if (stdin?.kind !== 'bytes') return null;
  const bytes = Buffer.from(stdin.base64, 'base64');
  // A runtime that was restarted has it no more.
  if (bytes.length === 0) return null;
  const head = bytes.subarray(0, readMax);
  const text = mask(isUtf8(bytes) ? head.toString('utf8') : spelled(head));
  const isWhole = bytes.length <= readMax && text.length <= shownMax;
  return { text: isWhole ? text : headOf(text), bytes: bytes.length, is_whole: isWhole };
}

/** Letters beyond ASCII among bytes, or a byte that is none. */
const notAscii = /((?:[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2})+)|[^\t\n\x20-\x7e]/g;

/** Bytes that are no text, by their numbers; what is text stays, or no secret would be found. */
const spelled = (bytes: Buffer): string =>
  bytes.toString('latin1').replaceAll(notAscii, (one, letters?: string) => {
    const known = Buffer.from(one, 'latin1');
    if (letters !== undefined && isUtf8(known)) return known.toString('utf8');
    return known.toString('hex').replaceAll(/../g, String.raw`\x$&`);
  });

/** Half of a character is none. */
function headOf(text: string): string {
  const cut = text.slice(0, shownMax);
  return cut.isWellFormed() ? cut : cut.slice(0, -1);
}
