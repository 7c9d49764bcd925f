/**
 * What runner and redactor say to each other, in frames (`frame.ts`) over the redactor's
 * descriptor 3. `stdout` and `stderr` frames carry raw bytes one way and redacted bytes the other,
 * on the channel of their execution. An answer's offset is the count of raw bytes taken so far.
 *
 *   runner → redactor  {start: {key, profile, …}}               once, before anything else
 *   runner → redactor  {open: {channel, command, known, interactive, seal}}
 *   runner → redactor  {learn: {channel, known}}                 values known since it was opened
 *   runner → redactor  frames; {end: {channel}}                  no more bytes come
 *   runner → redactor  {check: {n, channel, entries}}            which of these hold a known value
 *   redactor → runner  {ready: true}                             after `start`
 *   redactor → runner  frames; {ended: {channel, summary}}       after the last frame
 *   redactor → runner  {checked: {n, names}}
 *   redactor → runner  {unsealed: {channel, failure}}            what follows is not in the raw log
 */

import type { RawLog, KnownSecret, RedactionSummary } from '../redacted.ts';
import type { RedactionOptions } from '../redaction/open-redactor.ts';
import type { SealFailure, RawLogWriterOptions } from '../sealing/raw-log-writer.ts';

export interface RedactorStart extends RedactionOptions {
  /** Key of the tags, 64 hex digits. */
  readonly key: string;
}

export interface ChannelOpen {
  readonly channel: number;
  /** The command's text, by which secrets are more or less likely. */
  readonly command: string;
  readonly known: readonly KnownSecret[];
  /** A person may type: withheld output is released after a moment of silence. */
  readonly interactive: boolean;
  /** Names of values that a person allowed to be shown, see `Plan.reveal`. */
  readonly reveal: readonly string[];
  /** How its output is sealed, with known values masked; `null`: it is not. */
  readonly seal: RawLogWriterOptions | null;
}

/** How raw output is sealed; the installation's. */
export interface Sealing {
  /** Absolute, private to the user. */
  readonly directory: string;
  /** `age1…`, at least one. */
  readonly recipients: readonly string[];
  /** Bytes of one sealed log. */
  readonly bytesMax: number;
  /** Whether a command ends when its output cannot be sealed any more. */
  readonly required: boolean;
}

/** A variable or another part of a shell's state, by name. */
export type CheckEntry = readonly [name: string, value: string];

export type RedactorRequest =
  | { readonly start: RedactorStart }
  | { readonly open: ChannelOpen }
  | { readonly learn: { readonly channel: number; readonly known: readonly KnownSecret[] } }
  | { readonly end: { readonly channel: number } }
  | {
      readonly check: {
        readonly n: number;
        readonly channel: number;
        readonly entries: readonly CheckEntry[];
      };
    };

/** What is known when all output has gone through. */
export interface ChannelEnd {
  readonly summary: RedactionSummary;
  readonly raw_log: RawLog | null;
}

export type RedactorEvent =
  | { readonly ready: true }
  | { readonly ended: { readonly channel: number } & ChannelEnd }
  | { readonly unsealed: { readonly channel: number; readonly failure: SealFailure } }
  | { readonly checked: { readonly n: number; readonly names: readonly string[] } }
  | { readonly failed: { readonly channel: number; readonly reason: string } };

/** Largest control frame: 256 known values of 64 KiB, as JSON may write them. */
export const redactorControlBytesMax = 128 * 1024 * 1024;
