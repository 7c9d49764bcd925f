/** What is served of the console: small, whole, and nothing that a strict page policy refuses. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { before, test } from 'node:test';
import { gzipSync } from 'node:zlib';

const root = path.dirname(import.meta.dirname);
const built = path.join(root, 'dist/console');
/** Everything that is loaded before a terminal is looked at, in `bytes` after gzip. */
const startMax = 60 * 1024;

before(() => {
  // The launcher builds what is not there, or not current.
  execFileSync(path.join(root, 'trl'), ['console', '--help']);
});

const read = (file: string): string => readFileSync(path.join(built, file), 'utf8');

/** `console.js` and what it imports at once. */
function startScripts(): Set<string> {
  const found = new Set(['console.js']);
  for (const file of found) {
    const text = read(`assets/${file}`);
    for (const [, name] of text.matchAll(/(?:from|import)"\.\/([\w-]+\.js)"/g)) {
      if (name !== undefined) found.add(name);
    }
  }
  return found;
}

test('what is loaded before a terminal is at most 60 KiB after gzip', () => {
  const files = [...startScripts()].map((file) => `assets/${file}`);
  const all = ['index.html', 'assets/console-style.css', ...files];
  const sizes = all.map((file) => gzipSync(read(file)).length);
  const sum = sizes.reduce((total, size) => total + size, 0);
  assert.ok(sum <= startMax, `${sum} bytes: ${all.join(' ')}`);
});

test('the terminal is in a chunk of its own, which is loaded when one is looked at', () => {
  const start = startScripts();
  for (const file of start) assert.doesNotMatch(read(`assets/${file}`), /xterm-helper-textarea/);
  const chunks = globSync('assets/*.js', { cwd: built }).map((file) => path.basename(file));
  const later = chunks.filter((file) => !start.has(file));
  assert.equal(later.filter((file) => read(`assets/${file}`).includes('xterm')).length, 1);
  for (const file of later) assert.match(read('assets/console.js'), new RegExp(`\\./${file}`));
});

test('the page names no other place, and has no script or style in it', () => {
  const page = read('index.html');
  assert.doesNotMatch(page, /<script(?![^>]*\ssrc=)|<style|\son\w+=|style=|https?:|\/\/\w/i);
  for (const [, address] of page.matchAll(/(?:src|href)="([^"]*)"/g)) {
    assert.match(address ?? '', /^(?:\/assets\/[\w.-]+|data:,)$/);
  }
});

test('no script makes markup or code from text, and none needs Node', () => {
  for (const file of startScripts()) {
    const text = read(`assets/${file}`);
    assert.doesNotMatch(
      text,
      /\beval\(|new Function\(|insertAdjacentHTML|outerHTML|document\.write/,
    );
    assert.doesNotMatch(text, /\bBuffer\.|\bprocess\.|node:/);
  }
  const sources = globSync('src/console/**/*.{ts,tsx}', { cwd: root });
  assert.ok(sources.length > 20);
  for (const file of sources) {
    const text = readFileSync(path.join(root, file), 'utf8');
    assert.doesNotMatch(text, /innerHTML|dangerouslySetInnerHTML|document\.cookie/, file);
  }
});
