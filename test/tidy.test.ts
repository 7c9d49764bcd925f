// The rules of style that a machine can hold. Lengths, parameters, `any`, `!`, default exports,
// cycles and floating promises are oxlint's (.oxlintrc.json); enums, namespaces and parameter
// properties are refused by tsc (erasableSyntaxOnly). What neither knows is here.
import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { withPicture } from '../tools/structure.ts';

const root = path.dirname(import.meta.dirname);
const columnsMax = 100;

const words = [
  'binding.ts',
  'caches.ts',
  'canonical.ts',
  'change.ts',
  'command.ts',
  'content-store.ts',
  'embedded.ts',
  'errors.ts',
  'frame.ts',
  'hidden-characters.ts',
  'json-shape.ts',
  'launcher-variables.ts',
  'limits.ts',
  'variable-names.ts',
  'nearest-word.ts',
  'network-access.ts',
  'quote.ts',
  'redacted.ts',
];
const concepts = [
  'identity',
  'policy',
  'approval',
  'environment',
  'workspace',
  'sandbox',
  'process',
  'output',
  'redaction',
  'secrets',
  'audit',
  'provenance',
  'publish',
  'sealing',
  'session',
  'snapshot',
  'network',
];

/** What the files of one place under src/ may import, besides what lies in the same place. */
interface Place {
  readonly places: readonly string[];
  readonly packages: readonly string[];
  readonly builtins: boolean;
}

const importTable: ReadonlyMap<string, Place> = new Map<string, Place>([
  ...words.map((word) => [word, { places: [], packages: [], builtins: false }] as const),
  ...concepts.map((concept) => [concept, place([])] as const),
  // Files of the user alone are read and written in one way, by one at a time.
  ['private-file.ts', place([])],
  ['file-lock.ts', place([])],
  // Append-only files are opened, appended to and repaired in one way.
  ['segment-files.ts', place([])],
  ['audit', place(['segment-files.ts'])],
  ['snapshot', place(['segment-files.ts'])],
  ['sealing', place(['segment-files.ts'])],
  ['identity', place(['private-file.ts', 'file-lock.ts'])],
  ['approval', place(['private-file.ts', 'file-lock.ts', 'network'])],
  // Where programs find what they trust.
  ['sandbox', place(['network'])],
  // What people write in files is read in one way.
  ['yaml', place(['file-lock.ts'], ['yaml', 'zod'])],
  ['provenance', place([], ['zod'])],
  ['policy', place(['yaml', 'network'], ['picomatch', 'unbash', 'zod'])],
  ['workspace', place([], ['diff', 'picomatch'])],
  // The redactor decodes them to find values, the gate to find content. Concepts do not import each
  // other, so what both share is here.
  ['encodings', place([])],
  ['redaction', place(['encodings'], ['re2js'])],
  ['publish', place(['encodings'])],
  ['secrets', place([], ['@napi-rs/keyring'])],
  // A program of its own, as the runner: it holds the values and sees the raw output.
  ['redactor', place(['redaction', 'sealing'])],
  // It finds values in what it carries.
  ['egress', place(['network', 'redaction'])],
  // The machine that has the files of workspaces; the daemon reaches them by its port alone.
  ['host', place([...concepts, 'api', 'process', 'runner', 'redactor', 'protocol'])],
  ['process', place(['runner', 'redactor', 'redaction'])],
  ['runner', place(['redactor', 'egress', 'network'])],
  ['approval-subject.ts', place(['execution.ts', ...concepts])],
  ['authorize.ts', place(['approval-subject.ts', 'execution.ts', ...concepts])],
  ['run.ts', place(['execution.ts', ...concepts])],
  // The port's types: the lookups of files that a command needs.
  ['execution.ts', place(['host', ...concepts])],
  ['protocol', place([])],
  // Each method of the wire, defined once.
  ['api', place(['protocol', 'audit'], ['zod'])],
  // Runs in browsers, too.
  ['client', { ...place(['api', 'protocol']), builtins: false }],
  // The ways to a runtime on this machine: its socket, or one started for the caller.
  ['local', place(['client', 'api', 'protocol'])],
  [
    'daemon',
    place(
      [
        'approval-subject.ts',
        'authorize.ts',
        'execution.ts',
        'run.ts',
        ...concepts,
        'host',
        'configuration',
        'yaml',
        'runner',
        'api',
        'protocol',
        // Tools are called over a client, also from within: by MCP over HTTP, by scripts.
        'client',
        'mcp',
        'tools',
      ],
      ['zod', 'diff', 'ws'],
    ),
  ],
  ['console', place(['client', 'api'], ['preact', '@preact/signals', '@xterm'])],
  // What an agent is offered, over any client: MCP, HTTP and scripts show the same tools.
  ['tools', place(['api', 'client', 'protocol', 'network'], ['zod'])],
  ['mcp', place(['api', 'client', 'protocol', 'tools'], ['@modelcontextprotocol/server', 'zod'])],
  // What `trl policy` tells of a text or a file needs no daemon. A passphrase is set without one:
  // a method of the wire that sets it would be an agent's, too.
  [
    'cli',
    place(
      [
        'client',
        'local',
        'mcp',
        'tools',
        'protocol',
        'identity',
        'policy',
        'approval',
        'redaction',
        'network',
        // The doctor names weak ones, which no method of the wire tells an agent.
        'secrets',
        'configuration',
        'yaml',
        // The log is checked, and a raw log opened, without trust in a daemon.
        'audit',
        'provenance',
        'sealing',
      ],
      ['jsonc-parser', 'smol-toml'],
    ),
  ],
  ['configuration', place(['yaml', 'sealing', 'network'], ['zod', 're2js'])],
]);

function place(places: readonly string[], packages: readonly string[] = []): Place {
  return { places: [...words, ...places], packages, builtins: true };
}

interface Import {
  readonly line: number;
  readonly specifier: string;
  readonly typeOnly: boolean;
}

test('every import follows the import table', () => {
  const wrong: string[] = [];
  for (const file of globSync('src/**/*.{ts,tsx}', { cwd: root })) {
    const from = placeOf(file);
    const may = importTable.get(from);
    if (may === undefined) {
      wrong.push(`${file}: "${from}" has no row in the import table of test/tidy.test.ts`);
      continue;
    }
    for (const found of importsOf(file)) {
      const reason = whyForbidden(file, from, may, found);
      if (reason !== undefined) {
        wrong.push(`${file}:${found.line}: ${reason}`);
      }
    }
  }
  none(wrong);
});

test('the daemon reaches the files of workspaces through the port of their host alone', () => {
  // What these do, they do with paths and rules.
  const files = 'byte-path|inspect-path|path-rules|time-slices';
  const below = 'changes/change-kind|projection/visibility';
  const pure = new RegExp(`/workspace/(?:${files}|${below})\\.ts$`);
  // Runner, redactor, what the machine offers a sandbox, and looking at files for policy.
  const machine = new RegExp(
    '^[./]+/(?:host/|runner/|process/|redactor/|workspace/' +
      '|sandbox/(?:host-facts|toolchains|system|git-identity)\\.ts$' +
      '|policy/(?:facts|git-filters|package-script|shapes/project|binding/.*)\\.ts$)',
  );
  const exceptions = new Map([
    // The only place where the adapter of a machine is chosen.
    ['src/daemon/open-basis.ts', /\/host\/local-machine\.ts$/],
    // Whether the directory it was started in can be a root.
    ['src/daemon/args.ts', /\/workspace\/roots\.ts$/],
    // Where the runtime's own configuration lies.
    ['src/daemon/runtime-files.ts', /\/workspace\/(?:walk|grants)\.ts$/],
    // Descriptors that the daemon's own process inherited.
    ['src/daemon/main.ts', /\/runner\/descriptors\.ts$/],
  ]);
  const story = ['run.ts', 'authorize.ts', 'approval-subject.ts', 'execution.ts'];
  const judgement = globSync(`src/{daemon/**/*.ts,${story.join(',')}}`, { cwd: root });
  const wrong = judgement.flatMap((file) =>
    importsOf(file)
      .filter(({ typeOnly, specifier }) =>
        typeOnly && /\/host\//.test(specifier)
          ? !specifier.endsWith('/host/port.ts')
          : !typeOnly && machine.test(specifier) && !pure.test(specifier),
      )
      .filter(({ specifier }) => exceptions.get(file)?.test(specifier) !== true)
      .map(({ line, specifier }) => `${file}:${line}: imports "${specifier}"`),
  );
  none(wrong);
});

test('a relative import names the .ts file', () => {
  const wrong = sources().flatMap((file) =>
    importsOf(file)
      .filter(({ specifier }) => specifier.startsWith('.') && !/\.(tsx?|json)$/.test(specifier))
      .map(({ line, specifier }) => `${file}:${line}: "${specifier}" does not end in .ts`),
  );
  none(wrong);
});

test('no module exports all of another', () => {
  none(matches(sources(), /^\s*export\s*\*/, 'name what is exported'));
});

test(`no line is longer than ${columnsMax} columns`, () => {
  const long = new RegExp(`^.{${columnsMax + 1},}`, 'u');
  none(matches([...sources(), ...scripts()], long, `more than ${columnsMax} columns`));
});

test('nothing is left as a note to do later', () => {
  // Spelled so that this line is not one of them.
  const notes = /\b(?:TOD[O]|FIXM[E]|X{3}|HAC[K])\b/;
  none(matches([...sources(), ...scripts(), ...documents()], notes, 'do it, or say what holds'));
});

test('every link of a document leads to something', () => {
  const broken = documents().flatMap((file) =>
    [...read(file).matchAll(/\]\((?!https?:|#)([^)\s#]+)/g)].flatMap(([, to = '']) => {
      const at = path.join(root, path.dirname(file), to);
      return existsSync(at) ? [] : [`${file}: there is no ${to}`];
    }),
  );
  none(broken);
});

test('the picture in ARCHITECTURE.md is that of the imports', () => {
  const document = read('ARCHITECTURE.md');
  const advice = 'run `sh tools/node tools/structure.ts --write`';
  assert.equal(document, withPicture(document, root), advice);
});

test('every test that SECURITY.md names is there', () => {
  const named = [...read('SECURITY.md').matchAll(/`(?:npm run prove -- )?(test\/[^`\s]+)`/g)];
  assert.ok(named.length > 0);
  none(named.flatMap(([, to = '']) => (globSync(to, { cwd: root }).length > 0 ? [] : [to])));
});

test('every error code is documented in docs/errors.md', (t) => {
  const table = 'src/errors.ts';
  if (!existsSync(path.join(root, table))) {
    t.skip(`there is no ${table}`);
    return;
  }
  const codes = [...read(table).matchAll(/^\s+'?([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)'?: /gm)];
  assert.ok(codes.length > 0, `${table} has no lines of the form "CODE_NAME: …"`);
  const document = 'docs/errors.md';
  const documented = existsSync(path.join(root, document)) ? read(document) : '';
  const missing = new Set(codes.map(([, code]) => `\`${code}\``));
  none([...missing].filter((code) => !documented.includes(code)).map((code) => `${code}: absent`));
});

/** They run in browsers, or need no schema. */
const usesApiTypes: ReadonlySet<string> = new Set(['client', 'console', 'host', 'local']);

function whyForbidden(file: string, from: string, may: Place, found: Import): string | undefined {
  const { specifier, typeOnly } = found;
  if (specifier.startsWith('.')) {
    const to = placeOf(path.normalize(path.join(path.dirname(file), specifier)));
    if (to === 'api' && !typeOnly && usesApiTypes.has(from)) {
      return `${from} imports the types of api alone, which bring no schema with them`;
    }
    const amongWords = words.includes(from) && words.includes(to) && typeOnly;
    const allowed = to === from || may.places.includes(to) || amongWords;
    return allowed ? undefined : `${from} may not import ${to}`;
  }
  if (specifier.startsWith('node:')) {
    return may.builtins ? undefined : `${from} imports nothing, found "${specifier}"`;
  }
  const named = may.packages.some((name) => specifier === name || specifier.startsWith(`${name}/`));
  return named ? undefined : `${from} may not import the package "${specifier}"`;
}

/** `src/policy/decide.ts` → `policy`, `src/run.ts` → `run.ts`, `test/x.ts` → `../test/x.ts`. */
function placeOf(file: string): string {
  const inside = path.relative('src', file);
  return inside.startsWith('..') ? inside : (inside.split(path.sep)[0] ?? inside);
}

function importsOf(file: string): Import[] {
  const text = withoutComments(read(file));
  const statement =
    /(?:^|;)[ \t]*(?:import|export)\s(?<clause>[^'";]*?)from\s*['"](?<from>[^'"]+)['"]/gm;
  const bare = /(?:^|;)[ \t]*import\s*['"](?<from>[^'"]+)['"]/gm;
  const call = /\bimport\(\s*['"](?<from>[^'"]+)['"]/g;
  return [statement, bare, call].flatMap((pattern) =>
    [...text.matchAll(pattern)].map((match) => ({
      line: text.slice(0, match.index).split('\n').length,
      specifier: match.groups?.['from'] ?? '',
      typeOnly: /^type\s/.test(match.groups?.['clause'] ?? ''),
    })),
  );
}

/** Comments that open a line, blanked with the line count kept. */
function withoutComments(text: string): string {
  return text
    .replaceAll(/^\s*\/\*[^]*?\*\//gm, (comment) => comment.replaceAll(/[^\n]/g, ' '))
    .replaceAll(/^[ \t]*\/\/.*$/gm, '');
}

function sources(): string[] {
  const all = globSync('{src,test,bench,tools}/**/*.{ts,tsx}', { cwd: root });
  return all.filter((file) => !/node_modules|^test\/programs/.test(file)).toSorted();
}

function scripts(): string[] {
  return ['trl', '.ci/run', ...globSync('tools/*', { cwd: root })].filter((file) => {
    const base = path.basename(file);
    return !base.includes('.') && statSync(path.join(root, file)).isFile();
  });
}

function documents(): string[] {
  return globSync('{*.md,docs/**/*.md}', { cwd: root });
}

function matches(files: readonly string[], pattern: RegExp, advice: string): string[] {
  return files.flatMap((file) =>
    read(file)
      .split('\n')
      .flatMap((line, at) => (pattern.test(line) ? [`${file}:${at + 1}: ${advice}`] : [])),
  );
}

function read(file: string): string {
  return readFileSync(path.join(root, file), 'utf8');
}

function none(wrong: readonly string[]): void {
  if (wrong.length > 0) {
    assert.fail(`\n${wrong.join('\n')}\n`);
  }
}
