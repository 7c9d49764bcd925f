/** Finds known values in small complete texts: a command, a message, the name of a file. */
import type { SecretFinding } from '../secret-finding.ts';
import type { KnownIndex } from './known-index.ts';
import { KnownMasker } from './known-masker.ts';

export interface MaskedText {
  readonly text: string;
  /** Names of the values that were found, each once, without weak ones. */
  readonly hits: string[];
}

/** `text` with tags in place of known values. */
export function maskText(index: KnownIndex, text: string): MaskedText {
  const strong = maskStrong(index, text);
  return index.weak === null ? strong : { ...strong, text: maskWeak(index, strong.text) };
}

function maskStrong(index: KnownIndex, text: string): MaskedText {
  if (index.values.length === 0) return { text, hits: [] };
  const masker = new KnownMasker(index);
  const chunks = [...masker.push(Buffer.from(text, 'utf8')), ...masker.end()];
  const hits = new Set<string>();
  const parts: Uint8Array[] = [];
  let hidden = false;
  for (const chunk of chunks) {
    if (chunk.kind === 'text') parts.push(chunk.bytes);
    else {
      hidden = true;
      parts.push(Buffer.from(chunk.tag, 'utf8'));
      if (chunk.finding.key !== null) hits.add(chunk.finding.key);
    }
  }
  // Unchanged: a lone surrogate would not survive UTF-8.
  if (!hidden) return { text, hits: [] };
  return { text: Buffer.concat(parts).toString('utf8'), hits: [...hits] };
}

function maskWeak({ weak }: KnownIndex, text: string): string {
  const bytes = Buffer.from(text, 'utf8');
  const found = weak?.find(bytes.toString('latin1')) ?? [];
  if (found.length === 0) return text;
  const tags = new Map(
    weak?.values.flatMap(({ name, value, tag }) => [
      [`=${value}`, tag],
      [name, tag],
    ]),
  );
  const parts: string[] = [];
  let at = 0;
  for (const { start, end, key } of found) {
    const tag = tags.get(`=${bytes.toString('utf8', start, end)}`) ?? tags.get(key ?? '');
    parts.push(bytes.toString('utf8', at, start), tag ?? '[HIDDEN]');
    at = end;
  }
  return [...parts, bytes.toString('utf8', at)].join('');
}

/** The known values in `bytes`, without weak ones, which are no reason to refuse anything. */
export function findKnownValues(index: KnownIndex, bytes: Uint8Array): SecretFinding[] {
  if (index.values.length === 0) return [];
  const masker = new KnownMasker(index);
  const found: SecretFinding[] = [];
  let start = 0;
  for (const chunk of [...masker.push(bytes), ...masker.end()]) {
    const length = chunk.kind === 'text' ? chunk.bytes.length : chunk.bytes;
    if (chunk.kind === 'hidden') found.push({ ...chunk.finding, start, end: start + length });
    start += length;
  }
  return found;
}
