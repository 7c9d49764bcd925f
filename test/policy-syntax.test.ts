// What a script comes to: each row is a text and the words of every command in it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAnalysisBudget } from '../src/policy/syntax/budget.ts';
import { readShellScript } from '../src/policy/syntax/read.ts';
import type { ShellCommand, ShellScript, ShellWord } from '../src/policy/syntax/script.ts';

function read(text: string, positional?: readonly string[]): ShellScript {
  return readShellScript(text, { ...createAnalysisBudget(), deadline: Infinity }, positional);
}

/** `rm|-rf|?`: what is not known is `?`, a glob is `glob:…`. */
function shown({ words }: ShellCommand): string {
  return words.map(wordShown).join('|');
}

function wordShown({ value, glob, pieces }: ShellWord): string {
  if (value !== null) return value;
  return glob === null ? pieces.map((piece) => piece ?? '?').join('') : `glob:${glob}`;
}

function commandsOf(text: string): readonly string[] {
  return read(text).commands.map(shown);
}

function codes(text: string): readonly string[] {
  return [...new Set(read(text).problems.map(({ code }) => code))].toSorted();
}

const words: readonly (readonly [string, ...string[]])[] = [
  // Quotes and escapes.
  ['git status', 'git|status'],
  [String.raw`g\it 'sta'"tus"`, 'git|status'],
  [String.raw`git $'\x70\165s\u0068'`, 'git|push'],
  ['git $"push"', 'git|push'],
  ["git pu''sh ''", 'git|push|'],
  ['r\\\nm -rf x', 'rm|-rf|x'],
  [String.raw`echo "\a\$\"\\" 'a\b'`, String.raw`echo|\a$"\|a\b`],
  ['rm\t-rf\tx', 'rm|-rf|x'],
  // Braces.
  ['{rm,-rf,x}', 'rm|-rf|x'],
  ['echo a{b,c{d,e}}f', 'echo|abf|acdf|acef'],
  ['echo {1..3}{a..c..2} {01..03} {3..1}', 'echo|1a|1c|2a|2c|3a|3c|01|02|03|3|2|1'],
  ['echo {a}b,c} {} {a x{,y} {"",z} "{a,b}"', 'echo|a}b|c|{}|{a|x|xy||z|{a,b}'],
  ['echo {1..9999}', 'echo|?{1..9999}?'],
  // Separators, constants, defaults.
  ['rm${IFS}-rf$IFS"x"', 'rm|-rf|x'],
  ['x=rm; $x -rf y', '', 'rm|-rf|y'],
  ['x="rm -rf"; $x y; "$x" y', '', 'rm|-rf|y', 'rm -rf|y'],
  ['x=rm; x=ls; $x y', '', '', 'ls|y'],
  ['x=r; y=${x}m; ${y} z', '', '', 'rm|z'],
  ['x=r; x+=m; $x z', '', '', 'rm|z'],
  ['a=(rm -rf y); "${a[@]}"; ${a[0]} z', '', 'rm|-rf|y', 'rm|z'],
  ['set -- rm -rf y; "$@"; $1 z', 'set|--|rm|-rf|y', 'rm|-rf|y', 'rm|z'],
  ['r$@m "$*"x $1', 'rm|x'],
  ['${x:-rm} ${y-a b}', 'rm|a|b'],
  ['IFS=,; c=rm,-rf,x; $c', '', '', 'rm|-rf|x'],
  ['x=rmdir; ${x:0:2} ${x/dir/X} ${x%d*} ${x^^} ${x#r[a-m]} ${#x}', '', 'rm|rmX|rm|RMDIR|dir|5'],
  ['n=x; x=rm; ${!n} y', '', '', 'rm|y'],
  ['if a; then x=rm; else x=ls; fi; $x y', 'a', '', '', 'ls|y', 'rm|y'],
  ['for c in rm ls; do $c y; done', 'ls|y', 'rm|y'],
  ['$(echo rm) `printf "%s %b" -rf "\\x78"`', 'rm|-rf|x', 'echo|rm', 'printf|%s %b|-rf|\\x78'],
  ["$(cat <<'E'\nrm -rf\nE\n) x", 'rm|-rf|x', 'cat'],
  ['$(echo -e "\\x72m" | cat) x', 'rm|x', 'echo|-e|\\x72m', 'cat'],
  ['kill -$((3*3))', 'kill|-9'],
  ['f() { "$@"; }; f rm x', '?', 'rm|x', 'f|rm|x'],
  // Dynamic words keep what is static.
  ['$CMD "a$b"c', '?|a?c'],
  ['cat .e* [ab]c "*"', 'cat|glob:.e*|glob:[ab]c|*'],
  ['cat ~/x', 'cat|~/x'],
  ['bash <(curl x)', 'bash|/dev/fd/?', 'curl|x'],
  // Every place a command can hide in.
  ['a; b && c || d | e & f', 'a', 'b', 'c', 'd', 'e', 'f'],
  ['(a); { b; }; if c; then d; elif e; then f; else g; fi', 'a', 'b', 'c', 'd', 'e', 'f', 'g'],
  ['while a; do b; done; until c; do d; done', 'a', 'b', 'c', 'd'],
  ['for x in $(a); do b; done; for ((i=$(c);;)); do d; done', 'a', 'b', 'c', 'd'],
  ['case $(a) in $(b)) c;; *) d;; esac; select x in y; do e; done', 'a', 'b', 'c', 'd', 'e'],
  ['f() { a; }; function g { b; }; coproc c; time d; ! e', 'a', 'b', 'c', 'd', 'e'],
  ['[[ -v a[$(b)] ]]; (( a[$(c)] ))', '[[|-v|a[?]|]]', 'b', 'c'],
  ['echo $((a[$(b)])) $[`c`]', 'echo|?|?', 'b', 'c'],
  ['echo "a $(b) `c`" ${x#$(d)} ${x/$(e)/$(f)}', 'echo|a ? ?|?|?', 'b', 'c', 'd', 'e', 'f'],
  ['echo ${x[$(a)]} ${x:$(b):$(c)} ${x:=$(d)}', 'echo|?|?|?', 'a', 'b', 'c', 'd'],
  ['x=$(a) y=($(b)) z[$(c)]=1 d', 'd', 'a', 'b', 'c'],
  ['export A=$(a)', 'export|A=?', 'a'],
  ['a > $(b) 2>`c` <<< $(d)', 'a', 'b', 'c', 'd'],
  ['cat <<E\n$(a) `b` \\$(c)\nE', 'cat', 'a', 'b'],
  ["cat <<'E'\n$(a)\nE", 'cat'],
  ['echo `a \\`b\\``', 'echo|?', 'b', 'a|?'],
  ['tee >(a) < <(b)', 'tee|/dev/fd/?', 'a', 'b'],
  ['echo {a,$(b)}', 'echo|a|?', 'b'],
  ['x=\'$(a)\'; echo "${x@P}"', '', 'echo|$(a)', 'a', ':|?'],
  ["x='a[$(b)]'; echo $((x))", '', 'echo|?', 'b', ':|a[?]'],
  ['# a; b\n'],
];

const kinds: readonly (readonly [string, ...string[]])[] = [
  ['git status # a comment'],
  ['git log --grep="rm -rf" --grep=größe docs/日本語.md'],
  ['', 'empty'],
  ['# only a comment', 'empty'],
  ['git status; git diff', 'several'],
  ['git status\ngit diff', 'several'],
  ['git status | cat', 'several'],
  ['git status &', 'background'],
  ['git status >x', 'redirect'],
  ['cat <<E\nx\nE', 'redirect'],
  ['A=1 git status', 'assignment'],
  ['! git status', 'negation'],
  ['time git status', 'time'],
  ['(git status)', 'compound'],
  ['f() { a; }', 'compound', 'function'],
  ['cat $x', 'dynamic'],
  ['cat *', 'dynamic'],
  ['cat ~/x', 'dynamic'],
  ['cat {a,b}', 'dynamic'],
  ['cat $(a)', 'dynamic', 'substitution'],
  ['git status)', 'unparseable'],
  ['git "status', 'unparseable'],
  ['cat <<E\nx', 'redirect', 'unparseable'],
  ['git status \0', 'invisible'],
  ['git status \u202E', 'invisible'],
  ['git\u00A0status', 'confusable', 'invisible'],
  ['git status \r', 'invisible'],
  ['gіt status', 'confusable'],
  ['git log –oneline', 'confusable'],
  ['git log --оneline', 'confusable'],
  [`a${';a'.repeat(2_500)}`, 'limit.commands', 'several'],
  [`${'( '.repeat(100)}a${')'.repeat(100)}`, 'compound', 'limit.nesting'],
  [`a ${'b'.repeat(70_000)}`, 'limit.bytes'],
  ['echo {1..9999}', 'limit.braces'],
];

for (const [text, ...wanted] of kinds) {
  test(`finds ${wanted.join(', ') || 'no problem'} in ${JSON.stringify(text).slice(0, 60)}`, () => {
    assert.deepEqual(codes(text), wanted);
    assert.equal(read(text).plain === null, wanted.length > 0);
  });
}

for (const [text, ...wanted] of words) {
  test(`reads ${JSON.stringify(text)}`, () => {
    assert.deepEqual(commandsOf(text), wanted);
  });
}
