/**
 * A graph in DOT. Labels are text of others, so each is a quoted string in which nothing but text
 * is left: no quote, escape, entity, line end or control character of theirs.
 */
import type { CommandProvenanceGraph, GraphNode } from './graph.ts';

const shapes = {
  command: 'box',
  snapshot: 'cylinder',
  log: 'note',
  approval: 'diamond',
  publication: 'house',
  event: 'ellipse',
} as const satisfies Record<GraphNode['kind'], string>;

/** Characters of one line of a label. */
const lineMax = 120;
/** Controls, what reorders or hides text, and what is no character. */
const unseen = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/gu;

export function toDot(graph: CommandProvenanceGraph): string {
  const numbers = new Map(graph.nodes.map(({ id }, at) => [id, `n${at}`]));
  const nodes = graph.nodes.map(
    ({ id, kind, lines }) =>
      `  ${numbers.get(id) ?? ''} [shape=${shapes[kind]}, label=${quoted(lines)}];`,
  );
  const edges = graph.edges.flatMap(({ from, to, label }) => {
    const [tail, head] = [numbers.get(from), numbers.get(to)];
    return tail === undefined || head === undefined
      ? []
      : [`  ${tail} -> ${head} [label=${quoted([label])}];`];
  });
  const rest = graph.omitted > 0 ? [`  // ${graph.omitted} events of more commands left out`] : [];
  return [
    'digraph provenance {',
    '  rankdir=LR;',
    '  node [fontname="monospace"];',
    ...nodes,
    ...edges,
    ...rest,
    '}',
    '',
  ].join('\n');
}

/** Lines as one quoted string; `\n` between them is the only escape that is not a character. */
function quoted(lines: readonly string[]): string {
  return `"${lines.map(escaped).join(String.raw`\n`)}"`;
}

function escaped(line: string): string {
  const shown = line
    .toWellFormed()
    .replaceAll(
      unseen,
      (found) => `\\u{${(found.codePointAt(0) ?? 0).toString(16).toUpperCase()}}`,
    );
  const cut = shown.length > lineMax ? `${shown.slice(0, lineMax).toWellFormed()}…` : shown;
  return cut.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('&', '&amp;');
}
