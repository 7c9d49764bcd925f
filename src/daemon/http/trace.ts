/**
 * W3C Trace Context: `traceparent: 00-<32 hex: trace>-<16 hex: parent>-<2 hex: flags>`. Continues
 * the caller's trace; starts a new one if it is missing or invalid.
 */
import { randomBytes } from 'node:crypto';

const form = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/;

export interface TraceContext {
  /** The `traceparent` of this runtime's span. */
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
