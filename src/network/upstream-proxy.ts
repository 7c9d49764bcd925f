/** The proxy of a company, through which hosts outside are reached. Pure. */
import type { UpstreamProxy } from '../network-access.ts';

const proxyVariables = ['HTTPS_PROXY', 'https_proxy', 'ALL_PROXY', 'all_proxy'];
const bypassVariables = ['NO_PROXY', 'no_proxy'];

/** Words that may stand in the place of a URL. */
export const proxyWords: readonly string[] = ['environment', 'none'];

/** @param written a URL; `environment`: what the variables say; `none` */
export function upstreamProxyOf(
  written: string,
  env: Readonly<Record<string, string | undefined>>,
): UpstreamProxy | null {
  if (written === 'none') return null;
  const named = proxyVariables.map((name) => env[name]).find(Boolean);
  const bypass = bypassVariables.map((name) => env[name]).find(Boolean) ?? '';
  const proxy = parseProxyUrl(written === 'environment' ? (named ?? '') : written);
  return proxy === null ? null : { ...proxy, bypass: bypass.split(/[,\s]+/).filter(Boolean) };
}

/** @returns `null` for a text that is no URL of a proxy */
export function parseProxyUrl(text: string): Omit<UpstreamProxy, 'bypass'> | null {
  const url = URL.parse(/^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`);
  if (url === null || text === '' || !/^https?:$/.test(url.protocol)) return null;
  const isSecure = url.protocol === 'https:';
  const user = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  const hasUser = url.username !== '';
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: Number(url.port || (isSecure ? 443 : 80)),
    isSecure,
    ...(hasUser ? { authorization: `Basic ${Buffer.from(user).toString('base64')}` } : {}),
  };
}

/** Whether a host is reached without the proxy: `*`, `example.com`, `.example.com`, with a port. */
export function bypassesProxy({ bypass }: UpstreamProxy, name: string, port: number): boolean {
  return bypass.some((entry) => {
    if (entry === '*') return true;
    const [, written = '', digits] = /^(.*?)(?::(\d+))?$/.exec(entry.toLowerCase()) ?? [];
    const host = written.replace(/^\*?\./, '');
    const isPort = digits === undefined || Number(digits) === port;
    return host !== '' && isPort && (name === host || name.endsWith(`.${host}`));
  });
}
