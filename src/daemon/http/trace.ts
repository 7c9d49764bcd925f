/**
 * W3C Trace Context: `traceparent: 00-<32 hex: trace>-<16 hex: parent>-<2 hex: flags>`. What a
 * caller sends goes on; what cannot be read, or is not there, begins a trace of its own.
 */
import { randomBytes } from 'node:crypto';

const form = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/;

export interface TraceContext {
  /** Of this runtime's part of it, as `traceparent` is written. */
  readonly own: string;
  /** Whether the caller sent one. */
  readonly isGiven: boolean;
}

export function parseTraceparent(field: string | undefined): TraceContext {
  const [, version = 'ff', trace = '', parent = '', flags = '00'] = form.exec(field ?? '') ?? [];
  const isGiven =
    version !== 'ff' &&
    !/^0+$/.test(trace) &&
    !/^0+$/.test(parent) &&
    (version !== '00' || field?.length === 55);
  const id = isGiven ? trace : randomBytes(16).toString('hex');
  const span = randomBytes(8).toString('hex');
  return { own: `00-${id}-${span}-${isGiven ? flags : '00'}`, isGiven };
}
