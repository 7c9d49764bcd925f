/**
 * What hangs together with one command: the workspace before and after it, its output, the answers
 * that let it run, what was published of it, and commands that made what it changed or changed what
 * it made. Pure: events come in, in the order of the log.
 */
import {
  jsonField,
  readEventFileChanges,
  mentionsText,
  readEventStatement,
  jsonText,
} from './logged-events.ts';
import type { EventFileChange, LoggedEvent } from './logged-events.ts';

export interface CommandProvenanceGraph {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
  /** Related commands and names that are left out because there are too many. */
  readonly omitted: number;
}
export interface GraphNode {
  /** Distinct: `exec:x-…`, `tree:sha256:…`. */
  readonly id: string;
  readonly kind: 'command' | 'snapshot' | 'log' | 'approval' | 'publication' | 'event';
  /** Text of others: nothing in it is safe. */
  readonly lines: readonly string[];
}
export interface GraphEdge {
  readonly from: string;
  readonly to: string;
  readonly label: string;
}

const relatedMax = 50;
const namesShown = 5;

/** Collects the graph of one command: first all events of its own, then those of others. */
export class CommandGraphBuilder {
  readonly #exec: string;
  readonly #nodes = new Map<string, GraphNode>();
  readonly #edges = new Map<string, GraphEdge>();
  readonly #lines: string[] = [];
  /** By name: what the command found, and what it left. */
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

  /** An event that may be of another command; call after all of the command's own. */
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

  /** The exec ids that the graph has by now, its own among them. */
  commands(): readonly string[] {
    return [this.#exec, ...this.#related];
  }

  /** In hex, what the command found and left: events that say none of it are of no relation. */
  contents(): readonly string[] {
    const both = [...this.#files.values()].flatMap(({ before, after }) => [before, after]);
    return [...new Set(both)].filter((one) => one !== null);
  }

  /** @param texts what is known of related commands, by exec id */
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
    const why = [signal, stopped].filter((one) => one !== null).join(', ');
    const shown = typeof code === 'number' ? code : '?';
    this.#lines.push(`exit ${shown}${why === '' ? '' : ` (${why})`}`);
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
