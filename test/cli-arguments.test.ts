import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import * as fc from 'fast-check';
import './support/seed.ts';
import { parseArgs } from '../src/cli/args.ts';
import { commandText } from '../src/cli/run.ts';
import { verbHelp } from '../src/cli/help.ts';
import { quoteArgv } from '../src/quote.ts';
import { parseCount, parseDuration, parseSize, showDuration } from '../src/cli/units.ts';
import { escapeControls } from '../src/cli/print.ts';
import { verbs } from '../src/cli/verbs.ts';
import { isTrlError } from '../src/errors.ts';
import { temporary } from './support/box.ts';

const trl = path.join(path.dirname(import.meta.dirname), 'trl');

/** Runs the CLI to its end, with nothing to connect to. */
function cli(...args: string[]): { status: number | null; stdout: string; stderr: string } {
  const env = { ...process.env, TRL_SOCKET_PATH: '/nonexistent/trl.sock' };
  const { status, stdout, stderr } = spawnSync(trl, args, { env, encoding: 'utf8', input: '' });
  return { status, stdout, stderr };
}

for (const shell of ['sh', 'bash', 'zsh']) {
  test(`every argument list reaches ${shell} as it is`, (t) => {
    if (spawnSync(shell, ['-c', ':']).status !== 0) {
      t.skip(`there is no ${shell}`);
      return;
    }
    const word = fc.string({ unit: 'grapheme' }).filter((text) => !text.includes('\0'));
    const special = fc.constantFrom('', '~', '*', "'", '-n', 'a=b', '$HOME', '`id`', '\n', '!!');
    const argv = fc.array(fc.oneof(word, special), { minLength: 1, maxLength: 30 });
    fc.assert(
      fc.property(argv, (words) => {
        const text = quoteArgv(['printf', String.raw`%s\0`, ...words]);
        const { stdout } = spawnSync(shell, ['-c', text], { encoding: 'utf8' });
        assert.deepEqual(stdout.split('\0').slice(0, -1), words);
      }),
      { numRuns: 25 },
    );
  });
}

test('a program called like a word of the shell is still a program', () => {
  assert.equal(quoteArgv(['if', 'x']), "'if' x");
  assert.equal(quoteArgv(['A=b', 'c']), "'A=b' c");
});

test('one word is shell text, several are an argument list', () => {
  assert.equal(commandText(['echo $HOME | cat']), 'echo $HOME | cat');
  assert.equal(commandText(['echo', '$HOME', 'a b']), "echo '$HOME' 'a b'");
});

const takes = { flags: ['json', 'env', 'timeout', 'net'], command: true } as const;

test('flags after the first word belong to the command', () => {
  const args = parseArgs('run', takes, ['--json', 'ls', '--json', '-l']);
  assert.deepEqual(args.words, ['ls', '--json', '-l']);
  const behind = parseArgs('run', takes, ['--', '--json']);
  assert.deepEqual([behind.words, behind.has('json')], [['--json'], false]);
  // A program whose name has spaces is still one, where "--" says so.
  const spaced = parseArgs('run', takes, ['--', 'my program', '--json']);
  assert.deepEqual(spaced.words, ['my program', '--json']);
  const list = parseArgs('run', takes, ['echo', 'a b', '--json']);
  assert.deepEqual(list.words, ['echo', 'a b', '--json']);
});

test('a value comes behind the flag or behind =', () => {
  const args = parseArgs('run', takes, ['--env', 'A=1', '--env=B=2', '--timeout=5s', 'x']);
  assert.deepEqual([args.all('env'), args.text('timeout')], [['A=1', 'B=2'], '5s']);
});

const wrong: readonly (readonly [readonly string[], RegExp])[] = [
  [['--timout', '3'], /no flag "--timout"; did you mean "--timeout"\?/],
  [['-x'], /no flag "-x"; see: trl run --help/],
  [['--timeout'], /"--timeout" needs a value \(TIME\)/],
  [['--timeout', '1', '--timeout', '2'], /"--timeout" is given twice/],
  [['--json=yes'], /"--json" takes no value, got "yes"/],
  [['echo hi', '--json'], /"--json" is behind the command, .* put it before: trl run --json …/],
  [['make\ttest', '-j', '4', '--timeout=5m'], /"--timeout" is behind the command/],
];
for (const [argv, message] of wrong) {
  test(`refuses ${argv.join(' ')} with a reason`, () => {
    assert.throws(
      () => parseArgs('run', takes, argv),
      (error) => {
        return isTrlError(error, 'INVALID_PARAMS') && message.test(error.message);
      },
    );
  });
}

test('durations, sizes and counts are read as people write them', () => {
  const durations = ['30s', '500ms', '2', '1.5m', '1h', '1d', '5 s', '-1s', 's', '1e9d'];
  assert.deepEqual(durations.map(parseDuration), [
    30_000,
    500,
    2_000,
    90_000,
    3_600_000,
    86_400_000,
    null,
    null,
    null,
    null,
  ]);
  const sizes = ['4096', '64k', '2g', '1.5M', '1KiB', '1kb', '1x', '', '9999999t'];
  const read = [4096, 65_536, 2 ** 31, 1.5 * 2 ** 20, 1024, 1024, null, null, null];
  assert.deepEqual(sizes.map(parseSize), read);
  assert.deepEqual(['7', '0', '1.5', '-1', 'x'].map(parseCount), [7, 0, null, null, null]);
  assert.deepEqual([12, 1_234, 184_000].map(showDuration), ['12 ms', '1.2 s', '3 min 4 s']);
});

test('text of others cannot steer the terminal', () => {
  const text = escapeControls('a\x1b[2J\u009b6n\u202eb\nc é🙂');
  assert.equal(text, String.raw`a\u001b[2J\u009b6n\u202eb\u000ac é🙂`);
});

test('every verb explains itself', () => {
  for (const [name, verb] of verbs) {
    const help = verbHelp(name, verb);
    assert.ok(help.startsWith(`${verb.about}\n\nUsage: trl ${name}`), help);
    assert.ok(Math.max(...help.split('\n').map((line) => line.length)) <= 100, name);
  }
  for (const name of ['run', 'session list', 'mcp install']) {
    const { status, stdout, stderr } = cli(...name.split(' '), '--help');
    const verb = verbs.get(name);
    assert.deepEqual([status, stderr, stdout], [0, '', verb && verbHelp(name, verb)], name);
  }
});

test('help of a verb, of a group and of a verb in a group', () => {
  const help = (name: string, ...args: string[]): void => {
    const verb = verbs.get(name);
    assert.deepEqual(cli('help', ...args), {
      status: 0,
      stdout: verb && verbHelp(name, verb),
      stderr: '',
    });
  };
  help('run', 'run');
  help('mcp', 'mcp');
  help('session create', 'session', 'create');
  assert.match(cli('help', 'session').stdout, /^Usage: trl session VERB .*\n\n {2}session create /);
  assert.equal(cli('help').stdout, cli('--help').stdout);
  const wrong = cli('help', 'session', 'creat');
  assert.deepEqual([wrong.status, wrong.stdout], [125, '']);
  assert.match(wrong.stderr, /did you mean "session create"\?/);
});

test('the version is the package’s', () => {
  const { status, stdout } = cli('--version');
  assert.equal(status, 0);
  assert.match(stdout, /^\d+\.\d+\.\d+\S*\n$/);
});

test('what cannot be understood is a sentence with its code, and exit code 125', () => {
  const misspelt = cli('rnu', 'x');
  assert.equal(misspelt.stdout, '');
  assert.match(misspelt.stderr, /^trl: .*did you mean "run"\? \[INVALID_PARAMS\]\n$/);
  const empty = cli('run');
  assert.match(empty.stderr, /^trl: Cannot run "trl run": there is no command; example: .*\n$/);
  const value = cli('run', '--timeout', 'soon', 'x');
  assert.match(value.stderr, /--timeout: it must be a duration such as .*, got "soon"/);
  const group = cli('session', 'kill');
  assert.match(group.stderr, /session destroy/);
  const near = cli('session', 'lst');
  assert.match(near.stderr, /^trl: Cannot run "trl session lst": .* mean "session list"\?.*\n$/);
  assert.match(cli('exec', 'write').stderr, /which one\? see: trl exec list/);
  const codes = [misspelt, empty, value, group, cli()].map(({ status }) => status);
  assert.deepEqual(codes, [125, 125, 125, 125, 125]);
});

test('a verb that takes no words says so, before it does anything', () => {
  // It is the same line of code that says so for every verb whose row has no words.
  const wordless = [...verbs].filter(([, { words }]) => words === '').map(([name]) => name);
  assert.ok(['session list', 'doctor', 'demo'].every((name) => wordless.includes(name)));
  for (const name of ['session list', 'doctor', 'demo']) {
    const { status, stdout, stderr } = cli(...name.split(' '), 'stray');
    assert.deepEqual([status, stdout], [125, ''], name);
    const said = `trl: Cannot run "trl ${name}": it takes no words, got "stray" [INVALID_PARAMS]\n`;
    assert.equal(stderr, said);
  }
});

test('what could not be written is no success', () => {
  for (const verb of ['policy schema', 'completions bash', '--version', 'run --help']) {
    const ran = spawnSync('sh', ['-c', `"${trl}" ${verb} >/dev/full`], { encoding: 'utf8' });
    assert.equal(ran.status, 125, verb);
    assert.match(ran.stderr, /^trl: Cannot write the output: ENOSPC/, verb);
  }
});

test('a working directory that is gone is told', () => {
  const script = `cd "$(mktemp -d)" && rmdir "$PWD" && "${trl}" policy show`;
  const ran = spawnSync('sh', ['-c', script], { encoding: 'utf8' });
  assert.equal(ran.status, 125);
  assert.match(ran.stderr, /trl: Cannot run here: the working directory was removed; .*\n$/);
});

test('a runtime that is not there is BACKEND_UNAVAILABLE and how to start it', () => {
  const { status, stdout, stderr } = cli('session', 'list', '--json');
  assert.equal(status, 125);
  assert.equal(JSON.parse(stdout).error.code, 'BACKEND_UNAVAILABLE');
  assert.match(stderr, /nothing listens there; start it: trl serve \[BACKEND_UNAVAILABLE\]\n$/);
});

for (const shell of ['bash', 'zsh', 'fish']) {
  test(`the completions of ${shell} are a script that ${shell} accepts`, (t) => {
    const { status, stdout } = cli('completions', shell);
    assert.equal(status, 0);
    assert.match(stdout, /allow-read/);
    if (spawnSync(shell, ['-c', 'true']).status !== 0) {
      t.skip(`there is no ${shell}`);
      return;
    }
    using place = temporary();
    const file = path.join(place.path, 'script');
    writeFileSync(file, stdout);
    const checked = spawnSync(shell, ['-n', file], { encoding: 'utf8' });
    assert.deepEqual([checked.status, checked.stderr], [0, '']);
  });
}

test('bash completes verbs, flags and values', () => {
  const { stdout: script } = cli('completions', 'bash');
  const complete = (...words: string[]): string => {
    const text = `${script}
      COMP_WORDS=(${quoteArgv(['trl', ...words])}); COMP_CWORD=${words.length}
      _trl; echo "\${COMPREPLY[@]}"`;
    return spawnSync('bash', ['-c', text], { encoding: 'utf8' }).stdout.trim();
  };
  assert.deepEqual(
    [complete('ru'), complete('session', 'des'), complete('run', '--timeo'), complete('exec', '')],
    ['run', 'destroy', '--timeout', 'start list attach cancel read write'],
  );
  assert.match(complete('run', '--net', ''), /^off hosts open host npm pypi /);
  assert.equal(complete('session', 'destroy', '--fo'), '--force');
});

test('fish completes verbs, flags and values, and prints no error', (t) => {
  if (spawnSync('fish', ['-c', 'true']).error) return t.skip('there is no fish');
  using place = temporary();
  const file = path.join(place.path, 'trl.fish');
  writeFileSync(file, cli('completions', 'fish').stdout);
  const complete = (line: string): unknown => {
    // It keeps a configuration of its own where it finds none.
    const env = { ...process.env, HOME: place.path, XDG_CONFIG_HOME: place.path };
    const script = 'source $argv[1]; complete -C $argv[2]';
    const ran = spawnSync('fish', ['-c', script, file, line], { env, encoding: 'utf8' });
    const words = ran.stdout.split('\n').filter((one) => one !== '');
    return { words: words.map((one) => one.split('\t')[0]), stderr: ran.stderr };
  };
  const wanted = {
    'trl ru': ['run'],
    'trl session des': ['destroy'],
    'trl run --ne': ['--net', '--network'],
    'trl run --net h': ['host', 'hosts', 'huggingface'],
    'trl exec ': ['attach', 'cancel', 'list', 'read', 'start', 'write'],
    'trl session destroy --fo': ['--force'],
  };
  for (const [line, words] of Object.entries(wanted)) {
    assert.deepEqual(complete(line), { words, stderr: '' }, line);
  }
});

test('zsh completes verbs, flags and values, and prints no error', (t) => {
  if (spawnSync('zsh', ['-c', 'true']).error) return t.skip('there is no zsh');
  using place = temporary();
  const file = path.join(place.path, 'trl.zsh');
  writeFileSync(file, cli('completions', 'zsh').stdout);
  // What zsh itself says while it completes goes to the terminal, what it made of the line here.
  const made = path.join(place.path, 'made');
  const script = `zmodload zsh/zpty
    zpty shell 'TERM=dumb zsh -f -i'
    answer() { zpty -r shell said "*$1*"; print -r -- "$said" }
    zpty -w shell 'autoload -U compinit; compinit -D -u; source "$FILE"; unsetopt beep'
    zpty -w shell 'seen() { zle complete-word; print -r -- "$BUFFER" >>"$MADE"; BUFFER= }'
    zpty -w shell 'zle -N seen; bindkey "^T" seen; print READ""Y'
    answer READY
    for line; do zpty -w -n shell "$line"$'\\C-t'; done
    zpty -w shell 'print DON""E'
    answer DONE`;
  const wanted = {
    'trl ru': 'trl run ',
    'trl session des': 'trl session destroy ',
    'trl run --timeo': 'trl run --timeout ',
    'trl run --net of': 'trl run --net off ',
    'trl session destroy --fo': 'trl session destroy --force ',
  };
  const env = { ...process.env, HOME: place.path, FILE: file, MADE: made };
  const args = ['-f', '-c', script, 'zsh', ...Object.keys(wanted)];
  const { stdout } = spawnSync('zsh', args, { env, encoding: 'utf8', timeout: 240_000 });
  assert.deepEqual(readFileSync(made, 'utf8').split('\n'), [...Object.values(wanted), '']);
  assert.doesNotMatch(stdout, /_trl:|_arguments:|error|not found/);
});
