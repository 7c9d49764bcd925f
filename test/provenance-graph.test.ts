// The graph of a command: what hangs together with it, as text that nobody's name can break out of.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import './support/seed.ts';
import { inTotoPayload, signEnvelope } from '../src/provenance/dsse.ts';
import {
  CommandGraphBuilder,
  toDot,
  type CommandProvenanceGraph,
  type GraphNode,
} from '../src/provenance/graph.ts';
import { statementPayload, buildStatement } from '../src/provenance/statement.ts';
import type { LoggedEvent } from '../src/provenance/logged-events.ts';
import { change, execOf, record, recordedOf, sha, treeOf } from './support/provenance.ts';

const exec = execOf('one');
const event = (kind: string, data: unknown, of = exec): LoggedEvent => ({
  kind,
  at: 1_795_000_000_000,
  actor: 'agent:test',
  exec: of,
  data,
});
const entry = (text: string) => ({ type: 'file', mode: '0644', size: 1, sha256: sha(text) });
const changed = (of: string, path: string, before: string | null, after: string | null) =>
  event(
    'exec.changed',
    {
      before: treeOf(`${of} before`),
      after: treeOf(`${of} after`),
      changes: [
        {
          path,
          before: before === null ? null : entry(before),
          after: after === null ? null : entry(after),
        },
      ],
    },
    execOf(of),
  );

test('a graph has snapshots, logs, approvals, publications and commands of shared files', () => {
  const graph = new CommandGraphBuilder(exec);
  graph.addOwnEvent(event('exec.requested', { command: 'make' }));
  graph.addOwnEvent(event('approval.decided', { approval: 'a-1', decision: 'approve' }));
  graph.addOwnEvent(event('exec.decided', { decision: 'ask' }));
  graph.addOwnEvent(
    event('exec.ended', { exit_code: 0, stdout_sha256: sha('out'), stdout_bytes: 3 }),
  );
  graph.addOwnEvent(changed('one', 'a', 'v1', 'v2'));
  graph.addRelatedEvent(changed('earlier', 'a', 'v0', 'v1'));
  graph.addRelatedEvent(changed('elsewhere', 'b', 'v0', 'v1'));
  graph.addRelatedEvent(changed('later', 'a', 'v2', 'v3'));
  graph.addRelatedEvent(
    event('publication.published', { exec_ids: [exec], id: 'p-1' }, execOf('other')),
  );
  graph.addRelatedEvent(
    event('publication.published', { exec_ids: [execOf('else')], id: 'p-2' }, 'x-0'),
  );
  assert.deepEqual(graph.commands(), [exec, execOf('earlier'), execOf('later')]);
  const { nodes, edges } = graph.finish(new Map([[execOf('later'), 'rm a']]));
  const nameOf = new Map(nodes.map(({ id, lines }) => [id, lines[0]]));
  assert.deepEqual(
    edges.map(({ from, to, label }) => [from, label, to].join(' | ')),
    [
      `approval:a-1 | decided by agent:test | exec:${exec}`,
      `exec:${exec} | wrote | log:stdout`,
      `${treeOf('one before')} | before | exec:${exec}`,
      `exec:${exec} | after | ${treeOf('one after')}`,
      `exec:${execOf('earlier')} | made a | exec:${exec}`,
      `exec:${exec} | made a | exec:${execOf('later')}`,
      `exec:${exec} | published | publication:p-1`,
    ],
  );
  assert.equal(nameOf.get(`publication:p-2`), undefined);
  assert.deepEqual(nodes[0]?.lines, [exec, 'make', 'verdict: ask', 'exit 0']);
  assert.deepEqual(nodes.find(({ id }) => id === `exec:${execOf('later')}`)?.lines, [
    execOf('later'),
    'rm a',
  ]);
});

test('a statement alone tells of files, snapshots and the sealed log', () => {
  const recorded = recordedOf([
    change('a', { kind: 'modified', before: { ...file, sha256: sha('v1') } }),
    change('caf\xff', { kind: 'deleted', before: { ...file, sha256: sha('x') }, after: null }),
  ]);
  const rawLog = {
    sha256: sha('raw'),
    bytes: 9,
    plain_bytes: 3,
    complete: true,
    why: null,
    recipients: [],
  };
  const statement = buildStatement(record({ recorded, exit: { raw_log: rawLog } }));
  const envelope = signEnvelope(inTotoPayload, statementPayload(statement), []);
  const graph = new CommandGraphBuilder(exec);
  graph.addOwnEvent(event('exec.statement', { envelope }));
  graph.addRelatedEvent(changed('earlier', 'a', null, 'v1'));
  const bytes = {
    path: 'caf\ufffd',
    path_base64: Buffer.from('caf\xff', 'latin1').toString('base64'),
  };
  const made = { before: null, after: treeOf('t'), changes: [{ ...bytes, after: entry('x') }] };
  graph.addRelatedEvent(event('exec.changed', made, execOf('bytes')));
  assert.deepEqual(graph.commands(), [exec, execOf('earlier'), execOf('bytes')]);
  const ids = graph.finish().nodes.map(({ id }) => id);
  assert.ok(ids.includes('log:raw log') && ids.includes(treeOf('before')), ids.join(' '));
});

const file = { type: 'file', mode: 0o644, size: 1, mtimeMs: 0 } as const;

test('related commands are bounded, and the rest is counted', () => {
  const graph = new CommandGraphBuilder(exec);
  graph.addOwnEvent(changed('one', 'a', 'v1', 'v2'));
  for (let at = 0; at < 80; at += 1) graph.addRelatedEvent(changed(`later ${at}`, 'a', 'v2', 'v3'));
  assert.equal(graph.commands().length, 51);
  assert.equal(graph.finish().omitted, 30);
  assert.match(toDot(graph.finish()), /30 events/);
});

test('no event of whatever form breaks the graph', () => {
  const kinds = ['exec.requested', 'exec.ended', 'exec.changed', 'exec.statement', 'approval.used'];
  const any = fc.record({
    kind: fc.constantFrom(...kinds, 'publication.checked', 'raw-log.revealed', 'exec.refused'),
    at: fc.oneof(fc.integer(), fc.constant(Number.MAX_VALUE)),
    actor: fc.option(fc.string()),
    exec: fc.constantFrom(exec, execOf('two'), undefined),
    data: fc.oneof(
      fc.anything(),
      fc.record({
        command: fc.anything(),
        changes: fc.array(fc.anything()),
        envelope: fc.record({ payload: fc.base64String() }),
        before: fc.string(),
        after: fc.string(),
      }),
    ),
  });
  fc.assert(
    fc.property(fc.array(any, { maxLength: 6 }), (events) => {
      const graph = new CommandGraphBuilder(exec);
      for (const one of events) graph.addOwnEvent(one);
      for (const one of events) graph.addRelatedEvent(one);
      readDot(toDot(graph.finish()));
    }),
    { numRuns: 300 },
  );
});

const nasty = [
  'plain',
  '"];evil[label="',
  '\\',
  '\\"',
  'ends in \\',
  '<b>html</b>',
  '&lt;&#34;]',
  'two\nlines\r\n',
  '{record|port}',
  '\\N\\G\\E\\l',
  '// comment */ /*',
  '#include "x"',
  '\u0000\u001b]0;title\u0007',
  '\u202eevil\u2028',
  '\ud800 alone',
  'é😀',
];

test('no text of others ends its label, starts an escape or steers a terminal', () => {
  const text = fc.oneof(fc.constantFrom(...nasty), fc.string({ unit: 'binary' }), fc.string());
  const graphs = fc.record({
    lines: fc.array(text, { minLength: 1, maxLength: 4 }),
    label: text,
  });
  const holds = ({ lines, label }: { lines: string[]; label: string }) => {
    const node = (id: string): GraphNode => ({ id, kind: 'command', lines });
    const graph: CommandProvenanceGraph = {
      nodes: [node('a"b'), node('c')],
      edges: [{ from: 'a"b', to: 'c', label }],
      omitted: 0,
    };
    const dot = toDot(graph);
    const read = readDot(dot);
    assert.deepEqual(read.labels.length, 3);
    assert.equal(read.labels[0]?.length, lines.length, 'a line of theirs is one line');
    // eslint-disable-next-line no-control-regex
    assert.doesNotMatch(dot, /[^\n\x20-\x7e\p{L}\p{M}\p{N}\p{P}\p{S} \p{Zs}]/u);
    return read.labels;
  };
  for (const one of nasty) holds({ lines: [one], label: one });
  fc.assert(
    fc.property(graphs, (one) => void holds(one)),
    { numRuns: 500 },
  );
  const [[shown] = []] = holds({ lines: ['say "a\\b" & <c>'], label: '' });
  assert.equal(shown, 'say "a\\b" & <c>');
});

test('without escaping, a name that closes its label adds a statement of its own', () => {
  const evil = '"];evil[label="';
  assert.equal(readDot(`digraph g {\n  n0 [label="${evil}"];\n}\n`).statements, 2);
  const graph: CommandProvenanceGraph = {
    nodes: [{ id: 'a', kind: 'log', lines: [evil] }],
    edges: [],
    omitted: 0,
  };
  assert.equal(readDot(toDot(graph)).statements, 3, 'rankdir, node, and the one that is there');
});

/** Reads DOT as its grammar has it, as far as we write it; throws for anything else. */
function readDot(dot: string): { labels: string[][]; statements: number } {
  const token =
    /\s+|\/\/[^\n]*\n|(?<string>"(?:[^"\\\n]|\\[^\n])*")|(?<word>[A-Za-z_]\w*)|->|[{}[\];=,]/uy;
  const labels: string[][] = [];
  let statements = 0;
  let before = '';
  while (token.lastIndex < dot.length) {
    const at = token.lastIndex;
    const found = token.exec(dot);
    assert.ok(found !== null, `no token at ${JSON.stringify(dot.slice(at, at + 30))}`);
    const { string, word } = found.groups ?? {};
    if (string !== undefined && before === 'label') labels.push(linesOf(string));
    if (found[0] === ';') statements += 1;
    before = word ?? (found[0] === '=' ? before : '');
  }
  return { labels, statements };
}

/** What is shown: `\n` ends a line, entities are read, any other escape would be one of theirs. */
function linesOf(quoted: string): string[] {
  const lines = [''];
  for (const [, escape, plain] of quoted.slice(1, -1).matchAll(/\\([^])|([^\\])/gu)) {
    if (escape === 'n') lines.push('');
    else {
      assert.ok(escape === undefined || escape === '"' || escape === '\\', `\\${escape}`);
      lines.push(`${lines.pop() ?? ''}${escape ?? plain}`);
    }
  }
  return lines.map((line) => {
    assert.doesNotMatch(line.replaceAll('&amp;', ''), /&/);
    return line.replaceAll('&amp;', '&');
  });
}
