/** Rows of `routes.ts` about the runtime itself, and what all rows are made of. */
import type { DoorRoute, Route } from './route.ts';

export const none = {};
export const json = { answer: 'json', status: 200 } as const;
export const get = { ...json, method: 'GET', body: false, query: none } as const;
export const post = {
  ...json,
  method: 'POST',
  body: true,
  query: none,
  idempotency: 'kept',
} as const;
export const pages = { by: 'whole', usual: 100, max: 1_000 } as const;

export const system = [
  {
    ...get,
    path: '/v1/events',
    call: 'system.watch',
    about: 'Follow everything that changes as server-sent events',
    answer: 'events',
  },
  {
    ...get,
    path: '/v1/tools',
    call: 'tool.list',
    about: 'List the tools that are registered here',
    query: { session_id: 'text' },
    page: { ...pages, items: 'tools', key: 'name' },
  },
  {
    ...post,
    path: '/v1/tools/{name}',
    call: 'tool.call',
    about: 'Call a tool',
    idempotency: 'exec_key',
  },
  { ...get, path: '/v1/runtimes', call: 'runtime.list', about: 'Where commands run' },
  { ...get, path: '/v1/ping', call: 'system.ping', about: 'Whether it answers, and its version' },
  { ...get, path: '/v1/stats', call: 'system.stats', about: 'Sessions, commands and memory' },
  { ...get, path: '/v1/metrics', call: 'system.metrics', about: 'The figures of /metrics as JSON' },
] as const satisfies readonly Route[];

/** Paths of the door itself, which no method of the wire stands for. */
export const doorRoutes = [
  { method: 'GET', path: '/healthz', about: 'Whether the process answers', open: true },
  { method: 'GET', path: '/readyz', about: 'Whether it takes requests', open: true },
  { method: 'GET', path: '/openapi.json', about: 'This document', open: true },
  { method: 'GET', path: '/metrics', about: 'Counters as Prometheus text', open: false },
  { method: 'POST', path: '/v1/login', about: 'Trade a code of a login link', open: true },
  { method: 'DELETE', path: '/v1/login', about: 'End the login that asks', open: false },
  { method: 'POST', path: '/rpc', about: 'One request of the wire in its envelope', open: false },
  { method: 'GET', path: '/rpc', about: 'The wire over a WebSocket', open: false },
  { method: 'POST', path: '/mcp', about: 'The tools of agents by MCP', open: false },
] as const satisfies readonly DoorRoute[];
