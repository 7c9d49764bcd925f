/* oxlint-disable typescript/consistent-type-assertions -- the mint: nothing changes */
/* oxlint-disable typescript/no-unsafe-type-assertion -- the mint */
/**
 * Text and bytes that went through redaction. Wire, console and audit take nothing else; the two
 * functions here are the only ones that make them.
 */
declare const redacted: unique symbol;

export type RedactedText = string & { readonly [redacted]: true };
export type RedactedBytes = Uint8Array & { readonly [redacted]: true };

/**
 * Marks what a redactor gave out. Called by what redacts, and where a journal is read that only a
 * redactor writes.
 */
export function redactedBytes(bytes: Uint8Array): RedactedBytes {
  return bytes as RedactedBytes;
}

/** Marks a text in which every known value was looked for. */
export function redactedText(text: string): RedactedText {
  return text as RedactedText;
}
