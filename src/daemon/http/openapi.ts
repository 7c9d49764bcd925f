/**
 * The HTTP API as an OpenAPI 3.1 document, generated from the route table and from the schemas that
 * also validate the wire: nothing is written twice, so nothing can drift.
 */
import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import { methods } from '../../api/methods.ts';
import {
  commonParameters,
  createOperation,
  operationIds,
  resourceOf,
  type BodySchemas,
} from './openapi-operations.ts';
import { builtinOperation } from './openapi-builtin.ts';
import { problemResponses } from './openapi-problems.ts';
import { wireSchemas } from './openapi-schemas.ts';
import { builtinRoutes, routes } from './routes.ts';

/** Descriptions of the groups of paths; a group without a line here has none. */
const tags: Readonly<Record<string, string>> = {
  sessions: 'Places that keep a directory and variables from command to command',
  execs: 'Commands, their output and their input',
  approvals: 'Questions to people',
  policy: 'What may run',
  secrets: 'Secrets by name; no value is ever answered',
  workspaces: 'Directories with rules of their own',
  snapshots: 'What commands changed, and the way back',
  publications: 'What may leave',
  audit: 'What was recorded',
  tools: 'Tools that agents are offered',
  door: 'The HTTP transport itself',
};

/**
 * Creates the document, identical for the same version. Keys follow the order of the route table.
 *
 * @param version the version of the runtime
 */
export function createOpenapiDocument(version: string): JsonObject {
  const wire = wireSchemas();
  const bodies: BodySchemas = new Map();
  const ids = operationIds(routes);
  const paths: Record<string, Record<string, JsonObject>> = {};
  const add = (path: string, method: string, made: JsonObject): void => {
    (paths[path] ??= {})[method.toLowerCase()] = made;
  };
  for (const route of routes) {
    add(route.path, route.method, createOperation(route, ids.get(route) ?? '', wire, bodies));
  }
  for (const route of builtinRoutes) {
    add(route.path, route.method, builtinOperation(route, Object.keys(methods)));
  }
  const all = { ...wire.schemas, ...Object.fromEntries(bodies) };
  const responses = problemResponses();
  const resources = new Set(routes.map(({ path }) => resourceOf(path)));
  return {
    openapi: '3.1.1',
    info: {
      title: 'Terminal Runtime Layer',
      version,
      description: 'Runs commands for agents, sandboxed, under policy, recorded.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/', description: 'The runtime that answers this document' }],
    security: [{ bearer: [] }],
    tags: [...resources, 'door'].map((name) => ({
      name,
      ...(tags[name] === undefined ? {} : { description: tags[name] }),
    })),
    paths,
    components: {
      schemas: reachable(all, [paths, responses]),
      responses,
      parameters: commonParameters,
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description: 'A token of `trl token create`, of a login, or `TRL_AUTH_TOKEN`.',
        },
      },
    },
  };
}

/** The schemas that `from` refers to, directly or indirectly, by name. */
function reachable(
  schemas: Readonly<Record<string, JsonObject>>,
  from: readonly unknown[],
): Readonly<Record<string, JsonObject>> {
  const found = new Set<string>();
  const look = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(look);
    if (!isJsonObject(value)) return;
    for (const [key, inside] of Object.entries(value)) {
      const name = key === '$ref' && typeof inside === 'string' ? inside.split('/').at(-1) : null;
      if (typeof name !== 'string') look(inside);
      else if (!found.has(name) && Object.hasOwn(schemas, name)) {
        found.add(name);
        look(schemas[name]);
      }
    }
  };
  from.forEach(look);
  const named = Object.entries(schemas).filter(([name]) => found.has(name));
  return Object.fromEntries(named.toSorted(([one], [other]) => (one < other ? -1 : 1)));
}
