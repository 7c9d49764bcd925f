/** Redirects, and what a command therefore reads. */
import type { HereDoc, Redirection } from 'unbash';
import { flattenQuoted } from './flatten.ts';
import { isLate, report, spanOf, type Place, type Reading } from './reading.ts';
import type { Command, Input, Redirect, Word } from './script.ts';
import { readSingle } from './word.ts';

export interface Redirected {
  readonly redirects: readonly Redirect[];
  readonly input: Input;
  readonly inner: readonly Command[];
}

/** Reads redirects in order; of several that set descriptor 0 the last one counts. */
export function readRedirects(
  reading: Reading,
  place: Place,
  nodes: readonly Redirection[],
): Redirected {
  const redirects: Redirect[] = [];
  const inner: Command[] = [];
  let input = place.stdin;
  for (const node of nodes) {
    const span = spanOf(place, node);
    report(reading, 'redirect', span);
    if (isLate(reading, span)) break;
    const descriptor = node.descriptor?.type === 'FileDescriptor' ? node.descriptor.value : null;
    const named = node.descriptor?.type === 'FileDescriptorVariable';
    if (node.type === 'HereDoc') {
      const body = readBody(reading, place, node);
      inner.push(...body.inner);
      if ((descriptor ?? 0) === 0 && !named) input = body.input;
      continue;
    }
    if (node.target === undefined) {
      report(reading, 'unparseable', span);
      continue;
    }
    const read = readSingle(reading, place, node.target);
    const target = read.words[0] ?? null;
    inner.push(...read.inner);
    if (node.type === 'HereString') {
      if ((descriptor ?? 0) === 0 && target !== null) input = hereString(target);
      continue;
    }
    redirects.push({ span, operator: node.operator, descriptor, target });
    const reads = node.operator === '<' || node.operator === '<>';
    if (!reads || (descriptor ?? 0) !== 0 || named || target === null) continue;
    const substituted = target.pieces[0] === '/dev/fd/' && read.inner.length > 0;
    input = substituted ? { kind: 'substitution', from: read.inner } : { kind: 'file', target };
  }
  return { redirects, input, inner };
}

function hereString(target: Word): Input {
  const { span, value, pieces, variables } = target;
  const text = value === null ? null : `${value}\n`;
  return { kind: 'text', text, pieces: [...pieces, '\n'], span, variables };
}

function readBody(
  reading: Reading,
  place: Place,
  node: HereDoc,
): { readonly input: Input; readonly inner: readonly Command[] } {
  const span = spanOf(place, node.body);
  if (node.closing === undefined || node.delimiter === undefined) {
    report(reading, 'unparseable', spanOf(place, node));
  }
  const untabbed = (line: string): string =>
    node.operator === '<<-' ? line.replaceAll(/^\t+/gm, '') : line;
  const parts = node.delimiter?.quoted === true ? undefined : node.body.parts;
  if (parts === undefined) {
    const text = untabbed(node.body.text);
    return { input: { kind: 'text', text, pieces: [text], span, variables: [] }, inner: [] };
  }
  const flat = flattenQuoted(reading, place, parts);
  const pieces = flat.atoms.map((atom) => {
    if (atom.kind === 'text') return untabbed(atom.text);
    return atom.values === null ? null : atom.values.join(' ');
  });
  const text = pieces.includes(null) ? null : pieces.join('');
  const { inner, variables } = flat;
  return { input: { kind: 'text', text, pieces, span, variables }, inner };
}
