/* oxlint-disable typescript/consistent-type-assertions -- the mint: nothing changes */
/* oxlint-disable typescript/no-unsafe-type-assertion -- the mint */
/**
 * Redacted text and bytes. Wire, console and audit accept nothing else; the two functions here are
 * the only ones that make them.
 */
declare const redacted: unique symbol;

export type RedactedText = string & { readonly [redacted]: true };
export type RedactedBytes = Uint8Array & { readonly [redacted]: true };

/**
 * Marks the output of a redactor. Called by redactors, and where a journal is read that only a
 * redactor writes.
 */
export function redactedBytes(bytes: Uint8Array): RedactedBytes {
  return bytes as RedactedBytes;
}

/** Marks a text in which every known value was searched for. */
export function redactedText(text: string): RedactedText {
  return text as RedactedText;
}
