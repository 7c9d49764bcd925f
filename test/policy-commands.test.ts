// The knowledge base of commands: its own examples, its grammar of options, its names.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkKnowledgeExamples } from '../src/policy/commands/check.ts';
import { parseCommandOptions } from '../src/policy/commands/options.ts';
import { lookUpCommand, lookUpSubcommand } from '../src/policy/commands/table.ts';
import { shellTextWord } from '../src/policy/shell/derived-words.ts';

function read(name: string, words: readonly string[]): Record<string, unknown> {
  const node = lookUpCommand(name)?.node ?? {};
  const parsed = parseCommandOptions(
    words.map((word) => shellTextWord(word, [0, 0])),
    node,
  );
  const options = [...parsed.options].map(([effect, given]) => [
    effect,
    given.map((one) => one?.text ?? null),
  ]);
  return { options: Object.fromEntries(options), operands: parsed.operands };
}

test('every rule finds its examples and leaves its counter-examples', () => {
  assert.deepEqual(checkKnowledgeExamples(), []);
});

test('options are read as the command reads them', () => {
  const cases = [
    ['rm', ['x', '-rf'], { recursive: [null], force: [null] }, [0]],
    ['rm', ['--recurs', '--forc', 'x'], { recursive: [null], force: [null] }, [2]],
    ['rm', ['--', '-rf'], {}, [1]],
    ['kill', ['-s', 'KILL', '1'], { signal: ['KILL'] }, [2]],
    ['kill', ['-sKILL', '1'], { signal: ['KILL'] }, [1]],
    ['pkill', ['--signal=9', 'x'], { signal: ['9'] }, [1]],
    ['bash', ['-lc', 'x', 'y'], { flag: [null], command: [null] }, [1, 2]],
    ['timeout', ['-k', '1', '5', 'ls', '-k'], { value: ['1'] }, [2, 3, 4]],
    ['grep', ['-e', 'x', 'f'], { pattern: ['x'] }, [2]],
  ] as const;
  for (const [name, words, options, operands] of cases) {
    assert.deepEqual(read(name, words), { options, operands }, `${name} ${words.join(' ')}`);
  }
});

test('a command is found by path, case, alias and pattern of names', () => {
  const cases = [
    ['/usr/bin/rm', 'rm'],
    ['RM', 'rm'],
    ['git.exe', 'git'],
    ['gtimeout', 'timeout'],
    ['mkfs.ext4', 'mkfs'],
    ['python3.12', 'python'],
    ['constructor', undefined],
    ['rmx', undefined],
  ] as const;
  for (const [called, name] of cases) assert.equal(lookUpCommand(called)?.name, name, called);
});

test('npm takes any unique prefix of its commands, as npm 11 does', () => {
  const npm = lookUpCommand('npm')?.node ?? {};
  const cases = [
    ['pub', 'publish'],
    ['publis', 'publish'],
    ['logi', 'login'],
    ['add-user', 'login'],
    ['addUser', 'login'],
    ['toke', 'token'],
    ['x', 'exec'],
    ['log', undefined],
    ['p', undefined],
    ['test', undefined],
  ] as const;
  for (const [word, name] of cases) assert.equal(lookUpSubcommand(npm, word)?.name, name, word);
});
