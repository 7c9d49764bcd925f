/** Heads of HTTP messages, as they are checked and written again. */
import { isNameAsSent } from '../network/host-rules.ts';

export interface Header {
  /** In lower case. */
  readonly key: string;
  readonly name: string;
  readonly value: string;
}

export interface RequestHead {
  readonly method: string;
  /** From its first `/`, with its query; or `*`. */
  readonly target: string;
  /** Without those of one connection. */
  readonly headers: readonly Header[];
}

/** Headers of one connection, which the next one has its own of (RFC 9110, 7.6.1). */
const hopByHop: ReadonlySet<string> = new Set(
  'connection keep-alive proxy-connection te trailer transfer-encoding upgrade'.split(' '),
);

export const headersOf = (rawHeaders: readonly string[]): readonly Header[] =>
  rawHeaders.flatMap((name, at) =>
    at % 2 === 0 ? [{ key: name.toLowerCase(), name, value: rawHeaders[at + 1] ?? '' }] : [],
  );

/** Name and value in turn, as Node takes them. */
export const rawHeadersOf = (headers: readonly Header[]): string[] =>
  headers.flatMap(({ name, value }) => [name, value]);

/** Headers that belong to this connection alone, as the sender says. */
export const connectionOptions = (headers: readonly Header[]): readonly string[] =>
  headers.flatMap(({ key, value }) =>
    key === 'connection' ? value.split(',').map((one) => one.trim().toLowerCase()) : [],
  );

/** Without what belongs to this connection alone. */
export function passedOn(headers: readonly Header[]): readonly Header[] {
  const dropped = new Set([...hopByHop, ...connectionOptions(headers)]);
  return headers.filter(({ key }) => !dropped.has(key));
}

/** Whether an authority (RFC 9110, 7.2) is that of the host. */
export function isAuthority(
  text: string,
  { name, port }: { readonly name: string; readonly port: number },
  defaultPort: number,
): boolean {
  const [, host = '', digits] = /^([^:]+)(?::(\d+))?$/.exec(text) ?? [];
  const isPort = (digits === undefined ? defaultPort : Number(digits)) === port;
  return isNameAsSent(host, name) && isPort;
}
