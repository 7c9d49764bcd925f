/** What a capture tells, in the words of pictures. */
import assert from 'node:assert/strict';
import type { Entry } from '../../src/change.ts';
import type { ContentStore } from '../../src/content-store.ts';
import type { CaptureResult } from '../../src/workspace/changes/capture.ts';
import { sorted } from './changes.ts';

/**
 * Path → what it was and what it is, as `differences` has it. What is told as `metadata-only` is
 * left out, once both sides are seen to be equal. Every hash that is told must be kept, unless it
 * is marked.
 */
export async function told(
  capture: CaptureResult,
  contents: ContentStore,
): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const { path, kind, before, after, marks } of capture.changes) {
    for (const side of [before, after]) {
      if (side?.type !== 'file' || side.sha256 === null || marks.includes('over-cap')) continue;
      const content = await contents.read(side.sha256);
      assert.equal(content?.length, side.size, `the content of "${path}" is not kept`);
    }
    const [was, is] = [words(before), words(after)];
    if (kind === 'metadata-only') {
      assert.equal(was, is, `"${path}" is told as metadata only`);
      continue;
    }
    assert.ok(!Object.hasOwn(found, path), `"${path}" is told twice`);
    found[path] = `${was} -> ${is}`;
  }
  return sorted(found);
}

function words(entry: Entry | null): string {
  if (entry === null) return '-';
  if (entry.type === 'symlink') return `symlink ${entry.target}`;
  const mode = entry.mode.toString(8);
  return entry.type === 'file' ? `file ${mode} ${entry.sha256}` : `${entry.type} ${mode}`;
}
