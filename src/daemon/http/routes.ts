/** The HTTP API as plain data, derived from the definitions of the methods. */
import type { ResponseKind, RouteDefinition } from '../../api/define-method.ts';
import { definitionOf, findMethod, methodNames, type MethodName } from '../../api/methods.ts';

/** Another method at the same path, selected by `?mode=`. */
export interface RouteMode {
  readonly call: MethodName;
  readonly status: 200 | 202;
  readonly answer: ResponseKind;
}

export interface Route extends Omit<RouteDefinition, 'modes'> {
  readonly call: MethodName;
  /** By the value of `?mode=`; without it the row itself applies. */
  readonly modes?: Readonly<Record<string, RouteMode>>;
}

/** A path of the HTTP transport itself, without a wire method. */
export interface BuiltinRoute {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly about: string;
  /** Whether it needs no token. */
  readonly open: boolean;
}

/** The order does not matter: a literal segment of a path wins over one in braces. */
export const routes: readonly Route[] = methodNames.flatMap((call) => {
  const { http } = definitionOf(call);
  return typeof http === 'string' ? [] : http.map((route) => routeOf(call, route));
});

function routeOf(call: MethodName, { modes, ...route }: RouteDefinition): Route {
  if (modes === undefined) return { ...route, call };
  const named = Object.entries(modes).map(
    ([name, mode]) => [name, { ...mode, call: findMethod(mode.call) }] as const,
  );
  return { ...route, call, modes: Object.fromEntries(named) };
}

/** Parameters of a path that are numbers; the others are text. */
export const integersInPaths: ReadonlySet<string> = new Set(['seq']);

/** Wire methods without a path, and why. */
export const unrouted: ReadonlyMap<MethodName, string> = new Map(
  methodNames.flatMap((method) => {
    const { http } = definitionOf(method);
    return typeof http === 'string' ? [[method, http] as const] : [];
  }),
);

/** Paths of the HTTP transport itself, without a wire method. */
export const builtinRoutes = [
  { method: 'GET', path: '/healthz', about: 'Whether the process answers', open: true },
  { method: 'GET', path: '/readyz', about: 'Whether it takes requests', open: true },
  { method: 'GET', path: '/openapi.json', about: 'This document', open: true },
  { method: 'GET', path: '/metrics', about: 'Counters as Prometheus text', open: false },
  { method: 'POST', path: '/v1/login', about: 'Trade a code of a login link', open: true },
  { method: 'DELETE', path: '/v1/login', about: 'End the login that asks', open: false },
  { method: 'POST', path: '/rpc', about: 'One request of the wire in its envelope', open: false },
  { method: 'GET', path: '/rpc', about: 'The wire over a WebSocket', open: false },
  { method: 'POST', path: '/mcp', about: 'The tools of agents by MCP', open: false },
] as const satisfies readonly BuiltinRoute[];
