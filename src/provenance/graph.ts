/**
 * The graph around one command: the workspace before and after it, its output, its approvals, its
 * publications, and commands that made what it changed or changed what it made. Pure: events come
 * in the order of the log. Also writes the graph in DOT.
 */
import { jsonField, jsonText, mentionsText } from './logged-events.ts';
import { readEventFileChanges, readEventStatement } from './logged-events.ts';
import type { EventFileChange, LoggedEvent } from './logged-events.ts';

export interface CommandProvenanceGraph {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
  /** Related commands that are omitted because there are too many. */
  readonly omitted: number;
}
export interface GraphNode {
  /** Distinct: `exec:x-…`, `tree:sha256:…`. */
  readonly id: string;
  readonly kind: 'command' | 'snapshot' | 'log' | 'approval' | 'publication' | 'event';
  /** Untrusted text. */
  readonly lines: readonly string[];
}
export interface GraphEdge {
  readonly from: string;
  readonly to: string;
  readonly label: string;
}

const relatedMax = 50;
const namesShown = 5;

/** Builds the graph of one command: first from its own events, then from those of others. */
export class CommandGraphBuilder {
  readonly #exec: string;
  readonly #nodes = new Map<string, GraphNode>();
  readonly #edges = new Map<string, GraphEdge>();
  readonly #lines: string[] = [];
  /** The files that the command changed, by name. */
  readonly #files = new Map<string, EventFileChange>();
  readonly #related = new Set<string>();
  #omitted = 0;

  constructor(exec: string) {
    this.#exec = exec;
  }

  get #id(): string {
    return `exec:${this.#exec}`;
  }

  /** An event of the command itself, in the order of the log. */
  addOwnEvent(event: LoggedEvent): void {
    const { kind, data } = event;
    if (kind === 'exec.requested') this.#lines.push(jsonText(data, 'command') ?? '');
    if (kind === 'exec.decided') this.#lines.push(`verdict: ${jsonText(data, 'decision') ?? '?'}`);
    if (kind === 'exec.ended') this.#ended(data);
    if (kind === 'exec.refused' || kind === 'exec.failed') {
      this.#lines.push(`${kind.slice('exec.'.length)}: ${jsonText(data, 'code') ?? '?'}`);
    }
    if (kind === 'exec.changed') this.#snapshots(data);
    if (kind === 'exec.statement') this.#statement(readEventStatement(event));
    if (kind === 'exec.changed' || kind === 'exec.statement') {
      for (const file of readEventFileChanges(event)) this.#files.set(file.name, file);
    }
    if (kind.startsWith('approval.')) this.#approval(event);
    if (kind.startsWith('raw-log.')) this.#log('raw log', null, kind.slice('raw-log.'.length));
    if (kind.startsWith('publication.')) this.#publication(event);
  }

  /** An event that may belong to another command; to be called after all own events. */
  addRelatedEvent(event: LoggedEvent): void {
    const { kind, exec, data } = event;
    if (kind.startsWith('publication.') && mentionsText(data, this.#exec)) this.#publication(event);
    if (exec === undefined || exec === this.#exec || this.#files.size === 0) return;
    if (kind !== 'exec.changed' && kind !== 'exec.statement') return;
    const theirs = readEventFileChanges(event);
    const earlier = theirs.filter(({ name, after }) =>
      isSame(this.#files.get(name)?.before, after),
    );
    const later = theirs.filter(({ name, before }) => isSame(this.#files.get(name)?.after, before));
    if (earlier.length === 0 && later.length === 0) return;
    if (!this.#related.has(exec) && this.#related.size >= relatedMax) {
      this.#omitted += 1;
      return;
    }
    this.#related.add(exec);
    const id = `exec:${exec}`;
    this.#node({ id, kind: 'command', lines: [exec] });
    if (earlier.length > 0) this.#edge(id, this.#id, this.#naming('made', earlier));
    if (later.length > 0) this.#edge(this.#id, id, this.#naming('made', later));
  }

  /** The exec ids in the graph so far, including its own. */
  commands(): readonly string[] {
    return [this.#exec, ...this.#related];
  }

  /** Digests (hex) of the contents before and after: events without any of them are unrelated. */
  contents(): readonly string[] {
    const both = [...this.#files.values()].flatMap(({ before, after }) => [before, after]);
    return [...new Set(both)].filter((one) => one !== null);
  }

  /** @param texts descriptions of related commands, by exec id */
  finish(texts: ReadonlyMap<string, string> = new Map()): CommandProvenanceGraph {
    const own: GraphNode = { id: this.#id, kind: 'command', lines: [this.#exec, ...this.#lines] };
    const others = [...this.#nodes.values()].map((node) => {
      const text = texts.get(node.id.slice('exec:'.length));
      return text === undefined ? node : { ...node, lines: [...node.lines, text] };
    });
    return { nodes: [own, ...others], edges: [...this.#edges.values()], omitted: this.#omitted };
  }

  #ended(data: unknown): void {
    const [code, signal] = [jsonField(data, 'exit_code'), jsonText(data, 'signal')];
    const stopped = jsonText(data, 'stopped');
    const reason = [signal, stopped].filter((one) => one !== null).join(', ');
    const shown = typeof code === 'number' ? code : '?';
    this.#lines.push(`exit ${shown}${reason === '' ? '' : ` (${reason})`}`);
    for (const name of ['stdout', 'stderr']) {
      const sha256 = jsonText(data, `${name}_sha256`);
      if (sha256 !== null && jsonField(data, `${name}_bytes`) !== 0) {
        this.#log(name, sha256, 'wrote');
      }
    }
  }

  #statement(statement: unknown): void {
    const predicate = jsonField(statement, 'predicate');
    if (predicate === undefined) return;
    const complete = jsonField(predicate, 'reads_complete') === true;
    this.#lines.push(`reads: at most the projection${complete ? '' : ', and maybe more'}`);
    this.#snapshots(jsonField(predicate, 'changes'));
    const raw = jsonField(jsonField(predicate, 'logs'), 'raw_log');
    if (typeof raw === 'object' && raw !== null) {
      this.#log('raw log', jsonText(raw, 'sha256'), 'sealed');
    }
  }

  #snapshots(data: unknown): void {
    const [before, after] = [jsonText(data, 'before'), jsonText(data, 'after')];
    if (before !== null) this.#edge(this.#snapshot(before), this.#id, 'before');
    if (after !== null) this.#edge(this.#id, this.#snapshot(after), 'after');
  }

  #snapshot(tree: string): string {
    this.#node({ id: tree, kind: 'snapshot', lines: ['workspace', shortened(tree)] });
    return tree;
  }

  #log(name: string, sha256: string | null, label: string): void {
    const id = `log:${name}`;
    const known = this.#nodes.get(id);
    if (known === undefined) {
      this.#node({ id, kind: 'log', lines: sha256 === null ? [name] : [name, shortened(sha256)] });
    }
    this.#edge(this.#id, id, label);
  }

  #approval({ kind, actor, data }: LoggedEvent): void {
    const name = jsonText(data, 'approval') ?? 'approval';
    const id = `approval:${name}`;
    this.#node({ id, kind: 'approval', lines: [name] });
    const by = actor === null ? '' : ` by ${actor}`;
    this.#edge(id, this.#id, `${kind.slice('approval.'.length)}${by}`);
  }

  #publication({ kind, at, data }: LoggedEvent): void {
    const what = kind.slice('publication.'.length);
    const time = Number.isFinite(new Date(at).getTime()) ? new Date(at).toISOString() : '';
    const audience = jsonText(data, 'audience') ?? jsonText(jsonField(data, 'audience'), 'name');
    const key = jsonText(data, 'publication_id') ?? jsonText(data, 'id') ?? String(at);
    const id = `publication:${key}`;
    const lines = ['publication', time, ...(audience === null ? [] : [`for ${audience}`])];
    this.#node({ id, kind: 'publication', lines });
    this.#edge(this.#id, id, what);
  }

  #naming(verb: string, files: readonly EventFileChange[]): string {
    const names = files.slice(0, namesShown).map(({ name }) => name);
    const rest = files.length - names.length;
    return `${verb} ${names.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
  }

  #node(node: GraphNode): void {
    if (!this.#nodes.has(node.id)) this.#nodes.set(node.id, node);
  }

  #edge(from: string, to: string, label: string): void {
    this.#edges.set(`${from}\0${to}\0${label}`, { from, to, label });
  }
}

const isSame = (one: string | null | undefined, other: string | null): boolean =>
  other !== null && one === other;

const shortened = (digest: string): string =>
  digest.slice(digest.lastIndexOf(':') + 1).slice(0, 16);

const shapes = {
  command: 'box',
  snapshot: 'cylinder',
  log: 'note',
  approval: 'diamond',
  publication: 'house',
  event: 'ellipse',
} as const satisfies Record<GraphNode['kind'], string>;

/** Characters per line of a label. */
const lineMax = 120;
/** Control characters, those that reorder or hide text, and invalid ones. */
const invisible = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/gu;

/**
 * Labels are untrusted, so each is a quoted string without any quote, escape, entity, line end or
 * control character of theirs.
 */
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
  const rest =
    graph.omitted > 0 ? [`  // ${graph.omitted} events of more commands are omitted`] : [];
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

/** Lines as one quoted string, separated by `\n`, the only escape that is not a character. */
function quoted(lines: readonly string[]): string {
  return `"${lines.map(escaped).join(String.raw`\n`)}"`;
}

function escaped(line: string): string {
  const shown = line
    .toWellFormed()
    .replaceAll(
      invisible,
      (found) => `\\u{${(found.codePointAt(0) ?? 0).toString(16).toUpperCase()}}`,
    );
  const cut = shown.length > lineMax ? `${shown.slice(0, lineMax).toWellFormed()}…` : shown;
  return cut.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('&', '&amp;');
}
