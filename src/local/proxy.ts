/**
 * Node sends requests through the proxy of its environment if `NODE_USE_ENV_PROXY` or
 * `--use-env-proxy` is set. A local runtime speaks plain HTTP, so the proxy would see the token.
 */
interface ProxySettings {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** What Node itself was started with. */
  readonly flags: readonly string[];
}

/** The variable by which a plain `url` would go through a proxy; `null`: it goes straight. */
export function findProxyVariable(url: string, { env, flags }: ProxySettings): string | null {
  const place = URL.canParse(url) ? new URL(url) : null;
  if (place?.protocol !== 'http:' || !usesProxies({ env, flags })) return null;
  const named = ['http_proxy', 'HTTP_PROXY'].find((name) => (env[name] ?? '') !== '');
  if (named === undefined) return null;
  const host = place.hostname.replace(/^\[|\]$/g, '');
  const port = place.port === '' ? '80' : place.port;
  const spared = new Set(['*', host, `[${host}]`, `${host}:${port}`, `[${host}]:${port}`]);
  const list = env['no_proxy'] ?? env['NO_PROXY'] ?? '';
  return list.split(/[\s,]+/).some((one) => spared.has(one.toLowerCase())) ? null : named;
}

function usesProxies({ env, flags }: ProxySettings): boolean {
  const given = [...flags, ...(env['NODE_OPTIONS'] ?? '').split(/\s+/)];
  return env['NODE_USE_ENV_PROXY'] === '1' || given.includes('--use-env-proxy');
}
