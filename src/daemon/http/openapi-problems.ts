/** Describes failures in the document: one response per status, with the codes of that status. */
import { errorTable, type ErrorCode } from '../../errors.ts';
import type { JsonObject } from '../../protocol/json.ts';

const titles: Readonly<Record<number, string>> = {
  202: 'A person must decide first',
  400: 'The request is malformed',
  401: 'The caller was not recognised',
  403: 'The call is refused',
  404: 'There is no such thing',
  409: 'Something else is under way, or the key was used for another request',
  410: 'The bytes are no longer held',
  422: 'The tool could not do its work',
  429: 'A bound was reached',
  500: 'The runtime failed',
  502: 'The source of a secret failed',
  503: 'What the call needs is not there',
};

/** Codes by status, in the order of the table; with status 200 the answer is a receipt. */
const codesByStatus: ReadonlyMap<number, readonly ErrorCode[]> = Map.groupBy(
  Object.keys(errorTable)
    .filter(isCode)
    .filter((code) => errorTable[code].httpStatus !== 200),
  (code) => errorTable[code].httpStatus,
);

function isCode(code: string): code is ErrorCode {
  return Object.hasOwn(errorTable, code);
}

/** RFC 9457, with the runtime's own members. */
const problem: JsonObject = {
  description: 'RFC 9457. Callers branch on `code`, never on text.',
  type: 'object',
  properties: {
    type: { type: 'string', format: 'uri' },
    title: { type: 'string' },
    status: { type: 'integer', minimum: 100, maximum: 599 },
    detail: { type: 'string' },
    code: { $ref: '#/components/schemas/ErrorCode' },
    retry: { type: 'boolean', description: 'Whether the same call may succeed later.' },
    data: {
      type: 'object',
      description: 'What belongs to the failure: a verdict, an approval, partial output.',
    },
  },
  required: ['type', 'title', 'status', 'detail', 'code', 'retry'],
};

/** `Problem`, and one schema per status that names its codes. */
export function problemSchemas(): Readonly<Record<string, JsonObject>> {
  const narrowed = [...codesByStatus].map(([status, codes]) => [
    `Problem${status}`,
    {
      allOf: [
        { $ref: '#/components/schemas/Problem' },
        { type: 'object', properties: { code: { type: 'string', enum: codes } } },
      ],
    },
  ]);
  return Object.fromEntries([['Problem', problem], ...narrowed]);
}

export const problemContent = (status: number): JsonObject => ({
  'application/problem+json': { schema: { $ref: `#/components/schemas/Problem${status}` } },
});

/** `components.responses`: `Problem400` …, and `Problem` for everything else. */
export function problemResponses(): JsonObject {
  const failures = [...codesByStatus.keys()].filter((status) => status >= 400);
  const named = failures
    .toSorted((one, other) => one - other)
    .map((status) => [
      `Problem${status}`,
      { description: titles[status] ?? 'It failed', content: problemContent(status) },
    ]);
  const other = {
    description: 'Refused before a method was called, as by its size, its type or its rate',
    content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
  };
  return Object.fromEntries([...named, ['Problem', other]]);
}

export const problemResponseReference = (status: number | 'default'): JsonObject => ({
  $ref: `#/components/responses/Problem${status === 'default' ? '' : status}`,
});

export const problemTitle = (status: number): string => titles[status] ?? 'It failed';
