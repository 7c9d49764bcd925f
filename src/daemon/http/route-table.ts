/** Finds the row of a path in a table: a literal segment wins over one in braces. */
import { HttpRefusal } from './problem.ts';

interface Row {
  readonly method: string;
  readonly path: string;
}

export interface RouteMatch<R extends Row> {
  readonly row: R;
  /** Decoded segments by the names in braces. */
  readonly params: Readonly<Record<string, string>>;
}

const segmentBytesMax = 4_096;

interface Node<R> {
  readonly literals: Map<string, Node<R>>;
  any: Node<R> | null;
  readonly rows: R[];
}

const newNode = <R>(): Node<R> => ({ literals: new Map(), any: null, rows: [] });

export class RouteTable<R extends Row> {
  readonly #root: Node<R> = newNode();

  constructor(rows: readonly R[]) {
    for (const row of rows) this.#add(row);
  }

  /**
   * The row for a method and the path of a target; `null` if no row has this path.
   *
   * @throws HttpRefusal 405 if the path exists for other methods, 400 if a segment is invalid
   */
  find(method: string, path: string): RouteMatch<R> | null {
    const segments = path.slice(1).split('/');
    const values: string[] = [];
    let node: Node<R> | null = this.#root;
    for (const raw of segments) {
      const literal: Node<R> | undefined = node.literals.get(raw);
      if (literal === undefined) values.push(decoded(raw));
      node = literal ?? node.any;
      if (node === null) return null;
    }
    if (node.rows.length === 0) return null;
    // A HEAD gets the answer of a GET without the body.
    const wanted = method === 'HEAD' ? 'GET' : method;
    const row = node.rows.find((one) => one.method === wanted);
    if (row === undefined) throw wrongMethod(method, node.rows);
    const names = [...row.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
    return { row, params: Object.fromEntries(names.map((name, at) => [name, values[at] ?? ''])) };
  }

  #add(row: R): void {
    let node = this.#root;
    for (const segment of row.path.slice(1).split('/')) {
      if (segment.startsWith('{')) {
        node.any ??= newNode();
        node = node.any;
        continue;
      }
      const next = node.literals.get(segment) ?? newNode<R>();
      node.literals.set(segment, next);
      node = next;
    }
    node.rows.push(row);
  }
}

function wrongMethod(method: string, rows: readonly Row[]): HttpRefusal {
  const allowed = [...new Set(rows.map((one) => one.method))];
  const message = `Cannot answer ${method}: the path takes ${allowed.join(', ')}`;
  return new HttpRefusal('INVALID_PARAMS', message, {
    status: 405,
    headers: { Allow: allowed.join(', ') },
  });
}

function decoded(segment: string): string {
  const text = decode(segment);
  // No id or name contains these; only an attack names a parent directory.
  const isWrong = text === '' || text === '.' || text === '..' || !/^[^\p{Cc}/\\]*$/u.test(text);
  if (!isWrong && text.length <= segmentBytesMax) return text;
  throw new HttpRefusal('INVALID_PARAMS', 'Cannot read the request: a part of its path is no name');
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return '';
  }
}
