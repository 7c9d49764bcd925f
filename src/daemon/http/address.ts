/** The address of the HTTP transport, and whether it is allowed. */
import { isIP, isIPv4 } from 'node:net';
import { TrlError } from '../../errors.ts';
import { checkMainToken } from '../../identity/token.ts';

/** The settings of the HTTP transport. */
export interface HttpSettings {
  /** `127.0.0.1`, `::1`, `0.0.0.0` … */
  readonly host: string;
  /** 0 selects any free port. */
  readonly port: number;
  readonly tls: { readonly cert: string; readonly key: string } | null;
  /** Names accepted in `Host` besides those of this machine. */
  readonly names: readonly string[];
  /** Origins of other sites whose pages may send requests. */
  readonly origins: readonly string[];
}

/** The command-line flags of the HTTP transport. */
export interface HttpFlags {
  readonly http: string | null;
  readonly cert: string | null;
  readonly key: string | null;
  readonly names: readonly string[];
  readonly origins: readonly string[];
}

/**
 * @returns `null` if HTTP is not enabled
 * @throws TrlError `INVALID_PARAMS` if flags are invalid or incomplete, the token is missing, or
 *   other machines could reach the address without TLS
 */
export function readHttpFlags(flags: HttpFlags, token: string | undefined): HttpSettings | null {
  const { http, cert, key, names, origins } = flags;
  if (http === null) {
    const given = [cert, key].some((one) => one !== null) || names.length + origins.length > 0;
    if (given) throw refuse('the flags "--http-…" need --http HOST:PORT');
    return null;
  }
  const { host, port } = readAddress(http);
  if ((cert === null) !== (key === null)) {
    throw refuse('--http-cert and --http-key are given together');
  }
  if (token === undefined || token === '') throw needsToken();
  checkMainToken(token);
  const tls = cert === null || key === null ? null : { cert, key };
  if (tls === null && !isLoopback(host)) {
    throw refuse(
      `"${host}" can be reached by others, who would read every token on the way; ` +
        'give --http-cert FILE and --http-key FILE, or 127.0.0.1',
    );
  }
  return { host, port, tls, names: names.map(readName), origins: origins.map(readOrigin) };
}

/** A host in the form that URLs use. */
export const urlHost = (host: string): string => (isIP(host) === 6 ? `[${host}]` : host);

function readAddress(text: string): { readonly host: string; readonly port: number } {
  const [, bracketed, plain, digits = ''] =
    /^(?:\[([0-9a-f:.]+)\]|([^:[\]]+)):(\d{1,5})$/i.exec(text) ?? [];
  const name = bracketed ?? plain;
  const port = Number(digits);
  const host = name === 'localhost' ? '127.0.0.1' : name;
  const isAddress = host !== undefined && isIP(host) !== 0 && port <= 65_535;
  if (isAddress && (bracketed === undefined || isIP(host) === 6)) return { host, port };
  throw refuse(`--http must be ADDRESS:PORT, such as 127.0.0.1:7070, got "${text}"`);
}

function isLoopback(host: string): boolean {
  return isIPv4(host) ? host.startsWith('127.') : /^(?:0{0,4}:){2,7}0{0,3}1$/.test(host);
}

function readName(text: string): string {
  if (/^[a-z0-9.-]+(?::\d{1,5})?$|^\[[0-9a-f:.]+\](?::\d{1,5})?$/i.test(text)) return text;
  throw refuse(`--http-host must be a name such as box.example or box.example:443, got "${text}"`);
}

function readOrigin(text: string): string {
  const read = URL.parse(text);
  const isWeb = read !== null && /^https?:$/.test(read.protocol);
  if (isWeb && read.origin === text.toLowerCase()) return read.origin;
  throw refuse(`--http-origin must be an origin such as https://box.example, got "${text}"`);
}

function needsToken(): TrlError {
  return refuse(
    'TRL_AUTH_TOKEN is not set, and every caller needs a token; ' +
      'make one of 32 characters or more: export TRL_AUTH_TOKEN="$(openssl rand -hex 32)"',
  );
}

function refuse(why: string): TrlError {
  return new TrlError('INVALID_PARAMS', `Cannot open HTTP: ${why}`);
}
