/** Redirects, and what a command therefore reads. */
import type { HereDoc, Redirection } from 'unbash';
import { flattenQuotedParts } from './flatten.ts';
import {
  isOutOfTime,
  reportSyntaxProblem,
  nodeSpan,
  type SyntaxPosition,
  type ScriptReadingState,
} from './reading-state.ts';
import type { ShellCommand, StdinSource, Redirect, ShellWord } from './script.ts';
import { readSingleWord } from './word.ts';

export interface RedirectResult {
  readonly redirects: readonly Redirect[];
  readonly input: StdinSource;
  readonly inner: readonly ShellCommand[];
}

/** Reads redirects in order; of several that set descriptor 0 the last one counts. */
export function readRedirects(
  reading: ScriptReadingState,
  place: SyntaxPosition,
  nodes: readonly Redirection[],
): RedirectResult {
  const redirects: Redirect[] = [];
  const inner: ShellCommand[] = [];
  let input = place.stdin;
  for (const node of nodes) {
    const span = nodeSpan(place, node);
    reportSyntaxProblem(reading, 'redirect', span);
    if (isOutOfTime(reading, span)) break;
    const descriptor = node.descriptor?.type === 'FileDescriptor' ? node.descriptor.value : null;
    const named = node.descriptor?.type === 'FileDescriptorVariable';
    if (node.type === 'HereDoc') {
      const body = readBody(reading, place, node);
      inner.push(...body.inner);
      if ((descriptor ?? 0) === 0 && !named) input = body.input;
      continue;
    }
    if (node.target === undefined) {
      reportSyntaxProblem(reading, 'unparseable', span);
      continue;
    }
    const read = readSingleWord(reading, place, node.target);
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

function hereString(target: ShellWord): StdinSource {
  const { span, value, pieces, variables } = target;
  const text = value === null ? null : `${value}\n`;
  return { kind: 'text', text, pieces: [...pieces, '\n'], span, variables };
}

function readBody(
  reading: ScriptReadingState,
  place: SyntaxPosition,
  node: HereDoc,
): { readonly input: StdinSource; readonly inner: readonly ShellCommand[] } {
  const span = nodeSpan(place, node.body);
  if (node.closing === undefined || node.delimiter === undefined) {
    reportSyntaxProblem(reading, 'unparseable', nodeSpan(place, node));
  }
  const untabbed = (line: string): string =>
    node.operator === '<<-' ? line.replaceAll(/^\t+/gm, '') : line;
  const parts = node.delimiter?.quoted === true ? undefined : node.body.parts;
  if (parts === undefined) {
    const text = untabbed(node.body.text);
    return { input: { kind: 'text', text, pieces: [text], span, variables: [] }, inner: [] };
  }
  const flat = flattenQuotedParts(reading, place, parts);
  const pieces = flat.atoms.map((atom) => {
    if (atom.kind === 'text') return untabbed(atom.text);
    return atom.values === null ? null : atom.values.join(' ');
  });
  const text = pieces.includes(null) ? null : pieces.join('');
  const { inner, variables } = flat;
  return { input: { kind: 'text', text, pieces, span, variables }, inner };
}
