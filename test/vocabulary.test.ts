// Words that only their authors knew, each with the field's usual one. A stranger who knows shells,
// sandboxes and services should recognise every thing by its name.
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { repeatedExports } from '../tools/structure.ts';

const root = path.dirname(import.meta.dirname);

/** Retired words in comments, texts of the program and documents. */
const retiredWords: readonly (readonly [RegExp, string])[] = [
  [/\bwhoever\b/i, 'anyone who; or name the actor'],
  [/\bas far as\b/i, 'if, where; or state the limit'],
  [/\banew\b/i, 'again'],
  [/\bmend(s|ed|ing)?\b/i, 'fix'],
  [/\btold\b/i, 'reported, notified, recorded, configured'],
  [/\btells\b/i, 'reports, shows, says'],
  [/\b(held|holds|hold) against\b/i, 'checked against, compared with'],
  [/\b(take|takes|taken|taking) (it |them |that )?back\b/i, 'undo, revoke'],
  [/\b(let|lets|letting) (it|them|what|that)? ?through\b/i, 'apply, approve'],
  [/\bgood once\b/i, 'single-use'],
  [/\bstands (for|in|beside|there|where|between|on)\b/i, 'represents, is'],
  [/\b(a|the|no|whose|person's|their|its) yes\b/i, 'approval'],
  [/\bpark(s|ed|ing)?\b/i, 'queue'],
  [/\bdesks?\b/i, 'service'],
  [/\bdoors?\b/i, 'transport'],
  [/\bgrounds?\b/i, 'context'],
  [/\bwords for the agent\b/i, 'message to the agent'],
  [/\bof before\b/i, 'earlier, from an earlier version'],
  [/\b(give|gives|gave|giving) way\b/i, 'yield'],
  [/\bpieces?\b/i, 'chunk, part, slice'],
  [/\bnobody means\b/i, 'is never intended'],
  [/\bun(asked|told)\b/i, 'without approval, not reported'],
  [/\bequal commands\b/i, 'identical commands'],
  [/\bpatience\b/i, 'backoff, wait'],
];

/** Retired names of types, classes and functions. */
const retiredNames: ReadonlyMap<string, string> = new Map([
  ['Ground', 'ExecutionContext'],
  ['Grounds', 'ContextCache'],
  ['Asking', 'ExecutionRequest'],
  ['Question', 'PendingApproval'],
  ['World', 'RunDependencies'],
  ['Desk', 'ConnectionContext, …Service'],
  ['Starter', 'Launcher'],
  ['Parking', 'ApprovalQueue'],
  ['Parked', 'QueuedExecution'],
  ['Patience', 'RefusalBackoff'],
  ['Reach', 'Exposure'],
  ['Reading', 'ParsedCommand'],
  ['Holder', 'SandboxNamespace'],
  ['Keep', 'SandboxPool'],
  ['Holds', 'PendingLaunches'],
  ['Kept', 'IdempotencyCache'],
  ['Slots', 'Semaphore'],
  ['Turns', 'EventLoopYield'],
  ['Turn', 'SessionLock'],
  ['Told', 'AuditRecord'],
  ['Standing', 'Authorization, LogStatus'],
  ['Asked', 'ApprovalSubject'],
  ['Decided', 'AuthorizedExecution'],
  ['ChangeKeeper', 'ChangeTracker'],
  ['Place', 'LookupScope, SourceLocation, SegmentPosition'],
  ['Piece', 'OutputChunk, MatchPart, SegmentSlice'],
]);

/** Where comments, texts and documents are in the new words already. */
const finished: readonly string[] = [
  'ARCHITECTURE.md',
  'CHANGELOG.md',
  'README.md',
  'SECURITY.md',
  'docs',
  'src/audit',
  'src/output',
  'src/provenance',
  'src/sealing',
  'src/segment-files.ts',
  'src/snapshot',
  // The side of the files.
  'src/host',
  'src/workspace',
  'src/encodings',
  'src/publish',
  'src/redaction',
  'src/policy',
  'src/configuration',
  'src/yaml',
  'clients/python',
  'src/api',
  'src/client',
  'src/console',
  'src/mcp',
  'src/protocol',
  'src/tools',
  'src/cli',
  'src/local',
  'src/process',
  'src/redactor',
  'src/runner',
  'src/sandbox',
  'src/daemon/auditing',
  'src/daemon/publishing',
  'src/daemon/workspaces',
  'src/daemon/args.ts',
  'src/daemon/core.ts',
  'src/daemon/event-loop-yield.ts',
  'src/daemon/feed.ts',
  'src/daemon/listeners.ts',
  'src/daemon/main.ts',
  'src/daemon/metrics.ts',
  'src/daemon/open-core.ts',
  'src/daemon/own-environment.ts',
  'src/daemon/paths.ts',
  'src/daemon/policies.ts',
  'src/daemon/process-hardening.ts',
  'src/daemon/run-dependencies.ts',
  'src/daemon/runners.ts',
  'src/daemon/runtime-files.ts',
  'src/daemon/runtime.ts',
  'src/daemon/services.ts',
  'src/daemon/stopping.ts',
  'src/daemon/transports.ts',
  'src/daemon/used-keys.ts',
  'src/daemon/http',
  'src/daemon/transport',
  'src/daemon/secrets',
  'src/daemon/tools',
  'src/daemon/diffs',
];

const only = process.env['TRL_VOCABULARY']?.split(' ');
const isChecked = (file: string): boolean =>
  (only ?? finished).some((place) => file === place || file.startsWith(`${place}/`));

test('comments, texts and documents use the words of the field', () => {
  const files = globSync('{src,clients}/**/*.{ts,tsx,py}', { cwd: root }).filter(isChecked);
  const documents = globSync('{*.md,docs/**/*.md}', { cwd: root }).filter(isChecked);
  const found = [
    ...files.flatMap((file) => retiredIn(file, commentsAndTexts(read(file)))),
    ...documents.flatMap((file) => retiredIn(file, prose(read(file)))),
  ];
  assert.deepEqual(found, []);
});

test('no type, class, function or constant has a retired name', () => {
  const declaration =
    /\b(?:class|interface|type|function|const|enum) (\w+)|\b(?:as|type) (\w+)(?=[,\s}])/g;
  const found = globSync('src/**/*.{ts,tsx}', { cwd: root }).flatMap((file) =>
    linesOf(read(file)).flatMap(([line, text]) =>
      [...text.matchAll(declaration)].flatMap(([, name = '']) => {
        const better = retiredNames.get(name);
        const isRetired = better !== undefined && (isChecked(file) || text.startsWith('export '));
        return isRetired ? [`${file}:${line}: ${name} → ${better}`] : [];
      }),
    ),
  );
  assert.deepEqual(found, []);
});

test('no name is exported by two files', () => {
  assert.deepEqual([...repeatedExports(root)], []);
});

function retiredIn(file: string, lines: readonly (readonly [number, string])[]): string[] {
  return lines.flatMap(([line, text]) =>
    retiredWords.flatMap(([word, better]) => {
      const [found] = word.exec(text) ?? [];
      return found === undefined ? [] : [`${file}:${line}: "${found}" → ${better}`];
    }),
  );
}

/** Comments, and literals that read as sentences: what has a space in it is no wire field. */
function commentsAndTexts(text: string): (readonly [number, string])[] {
  return linesOf(text).map(([line, code]) => {
    const comment = /^\s*(?:\/\*\*?|\*|\/\/|#)(.*)$|\s\/\/ (.*)$/.exec(code);
    const literals = [...code.matchAll(/(['"`])((?:\\.|(?!\1).)*)\1?/g)]
      .map(([, , literal = '']) => literal.replaceAll(/\$\{[^}]*\}/g, ' '))
      .filter((literal) => /\S \S/.test(literal));
    const said = comment === null ? literals : [comment[1] ?? comment[2] ?? '', ...literals];
    // Names of the code in backticks are not words.
    return [line, said.join(' ').replaceAll(/`[^`]*`|\{@link[^}]*\}/g, ' ')] as const;
  });
}

/** A document without its code: blocks, spans and the targets of links. */
function prose(text: string): (readonly [number, string])[] {
  let isCode = false;
  return linesOf(text).map(([line, written]) => {
    if (/^\s*(```|~~~)/.test(written)) {
      isCode = !isCode;
      return [line, ''] as const;
    }
    return [line, isCode ? '' : written.replaceAll(/`[^`]*`|\]\([^)]*\)|"[^"]*"/g, ' ')] as const;
  });
}

const linesOf = (text: string): (readonly [number, string])[] =>
  text.split('\n').map((line, at) => [at + 1, line] as const);

const read = (file: string): string => readFileSync(path.join(root, file), 'utf8');
