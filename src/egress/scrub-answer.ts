/** Takes out of a host's answer what the host was given, also where it is compressed. */
import type { Duplex } from 'node:stream';
import { createBrotliDecompress, createInflate, createUnzip } from 'node:zlib';
import type { Header } from './http-messages.ts';
import type { ValueFinder } from './masking.ts';

export interface ScrubbedAnswer {
  readonly headers: readonly Header[];
  /** What its body goes through. */
  readonly through: readonly Duplex[];
}

const decompressors: ReadonlyMap<string, () => Duplex> = new Map([
  ['gzip', createUnzip],
  ['x-gzip', createUnzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
]);

/**
 * @param values what is taken out; `null`: nothing
 * @returns `null` for an encoding that cannot be read, though none was asked for
 */
export function scrubAnswer(
  headers: readonly Header[],
  values: ValueFinder | null,
): ScrubbedAnswer | null {
  if (values === null) return { headers, through: [] };
  const coding = headers.find(({ key }) => key === 'content-encoding')?.value ?? 'identity';
  const isPlain = coding.toLowerCase() === 'identity';
  const decompress = decompressors.get(coding.toLowerCase());
  if (!isPlain && decompress === undefined) return null;
  // Its length is that of another form.
  const kept = isPlain
    ? headers
    : headers.filter(({ key }) => key !== 'content-encoding' && key !== 'content-length');
  return {
    headers: kept.map((one) => ({ ...one, value: values.masked(one.value) })),
    through: [
      ...(decompress === undefined || isPlain ? [] : [decompress()]),
      values.maskingStream(),
    ],
  };
}
