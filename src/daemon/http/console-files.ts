/**
 * The built files of the console: read once, and sent plain or compressed. A request path is looked
 * up in a table and never becomes a file path.
 */
import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import path from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { embeddedBytes, embeddedNames } from '../../embedded.ts';
import { HttpRefusal } from './problem.ts';
import { setHeaderFields, stallMs } from './respond.ts';

type Coding = 'br' | 'gzip' | 'identity';

interface File {
  readonly type: string;
  readonly tag: string;
  readonly bodies: ReadonlyMap<Coding, Uint8Array>;
}

/** The page runs only its own scripts and connects only to its own origin. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ');

const types: ReadonlyMap<string, string> = new Map([
  ['.html', 'text/html; charset=utf-8'],
  ['.js', 'text/javascript; charset=utf-8'],
  ['.css', 'text/css; charset=utf-8'],
  ['.svg', 'image/svg+xml'],
  ['.png', 'image/png'],
  ['.ico', 'image/x-icon'],
  ['.woff2', 'font/woff2'],
  ['.json', 'application/json'],
  ['.map', 'application/json'],
]);

const notBuilt =
  '<!doctype html><html lang="en"><meta charset="utf-8"><title>trl</title>' +
  '<p>The console is not built here. Run <code>npm run build</code>, or use ' +
  '<code>trl approvals</code> in a terminal.</p></html>\n';

export class ConsoleFiles {
  readonly #directory: string;
  #files: ReadonlyMap<string, File> | null = null;

  /** @param directory the directory of the build; it is read at the first request */
  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Whether the path belongs to the console. */
  static isConsoleTarget(target: string): boolean {
    return target === '/' || target === '/favicon.ico' || target.startsWith('/assets/');
  }

  /** @throws HttpRefusal 404 or 405 */
  send(request: IncomingMessage, response: ServerResponse, target: string): void {
    const { method = '', headers } = request;
    if (method !== 'GET' && method !== 'HEAD') {
      const message = `Cannot answer ${method}: the path takes GET, HEAD`;
      const options = { status: 405, headers: { Allow: 'GET, HEAD' } };
      throw new HttpRefusal('INVALID_PARAMS', message, options);
    }
    this.#files ??= filesIn(this.#directory);
    const file = this.#files.get(target);
    if (file === undefined) {
      const message = 'Cannot answer the request: the console has no such file';
      throw new HttpRefusal('INVALID_PARAMS', message, { status: 404 });
    }
    setHeaderFields(response, {
      'Content-Type': file.type,
      'Content-Security-Policy': policy,
      'Cross-Origin-Opener-Policy': 'same-origin',
      'Permissions-Policy': 'camera=(), geolocation=(), microphone=()',
      'Cache-Control': 'no-cache',
      ETag: file.tag,
      Vary: 'Accept-Encoding',
    });
    if (headers['if-none-match'] === file.tag) {
      response.writeHead(304).end();
      return;
    }
    const coding = codingOf(headers['accept-encoding'], file);
    const body = file.bodies.get(coding) ?? new Uint8Array();
    if (coding !== 'identity') response.setHeader('Content-Encoding', coding);
    response.setHeader('Content-Length', body.length);
    response.setTimeout(stallMs, () => void response.destroy());
    response.writeHead(200).end(body);
  }
}

function codingOf(field: string | readonly string[] | undefined, { bodies }: File): Coding {
  const accepted = String(field ?? '')
    .split(',')
    .filter((one) => !/;\s*q=0(?:\.0*)?\s*$/.test(one))
    .map((one) => one.split(';')[0]?.trim());
  const wanted = (['br', 'gzip'] as const).find((one) => accepted.includes(one) && bodies.has(one));
  return wanted ?? 'identity';
}

/** The directory of the console within a single executable. */
const prefix = 'console/';
const embeddedPart = (name: string): Buffer => embeddedBytes(prefix + name) ?? Buffer.alloc(0);

/** `index.html` is served as `/`, and files of `assets` under `/assets/`. */
function filesIn(directory: string): ReadonlyMap<string, File> {
  const embedded = embeddedNames(prefix).map((name) => name.slice(prefix.length));
  const isEmbedded = embedded.length > 0;
  const names = isEmbedded
    ? embedded
    : globSync('{index.html,favicon.ico,assets/**/*}', { cwd: directory });
  const files = new Map<string, File>();
  for (const name of names) {
    const type = types.get(path.extname(name));
    if (type === undefined) continue;
    const target = name === 'index.html' ? '/' : `/${name.split(path.sep).join('/')}`;
    files.set(
      target,
      fileOf(isEmbedded ? embeddedPart(name) : readFileSync(path.join(directory, name)), type),
    );
  }
  if (!files.has('/')) files.set('/', fileOf(Buffer.from(notBuilt), 'text/html; charset=utf-8'));
  return files;
}

function fileOf(body: Buffer, type: string): File {
  const bodies = new Map<Coding, Uint8Array>([['identity', body]]);
  const isText = /text|json|svg/.test(type) && body.length > 1_024;
  if (isText) {
    const params = { [constants.BROTLI_PARAM_QUALITY]: 9 };
    bodies.set('gzip', gzipSync(body, { level: 9 }));
    bodies.set('br', brotliCompressSync(body, { params }));
  }
  const tag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 27)}"`;
  return { type, tag, bodies };
}
