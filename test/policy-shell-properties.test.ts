// What holds for every shell command, whatever it is: checked on random ones.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { array, assert as check, constantFrom, nat, property } from 'fast-check';
import './support/seed.ts';
import { analyseShell } from '../src/policy/analyse.ts';

const blocked = [
  ['rm', '-rf', 'x'],
  ['rm', 'x', '-r', '--force'],
  ['mkfs.ext4', '/dev/sdb'],
  ['dd', 'if=a', 'of=b'],
  ['shutdown', 'now'],
  ['git', '-C', 'x', 'push'],
  ['vercel', 'deploy'],
  ['railway', 'up'],
  ['npm', 'publish'],
  ['npm', 'logi'],
  ['printenv'],
  ['cat', '.env'],
  ['sudo', 'id'],
  ['kill', '-9', '1'],
  ['kill', '-s', 'KILL', '1'],
] as const;
const asked = [
  ['node', 'x.js'],
  ['git', 'commit', '-m', 'rm -rf'],
  ['make'],
  ['echo', 'sudo'],
] as const;
const allowed = [
  ['git', 'status', '-s'],
  ['rg', 'sudo rm', 'src'],
  ['ls', '-la'],
  ['cat', 'a b.md'],
  ['npm', 'run', 'lint'],
] as const;

const order = ['allow', 'ask', 'block'];
const word = constantFrom(...blocked, ...asked, ...allowed);

function decide(text: string): number {
  const { findings, allowed: rule } = analyseShell(text, 'bash');
  if (findings.some(({ bound }) => bound === 'block')) return order.indexOf('block');
  return order.indexOf(findings.length > 0 || rule === null ? 'ask' : 'allow');
}

const plain = (text: string): string => (/^[\w./=,:-]+$/.test(text) ? text : single(text));
const single = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;
const double = (text: string): string => `"${text.replaceAll(/[\\"$`]/g, String.raw`\$&`)}"`;
const escaped = (text: string): string => text.replaceAll(/[^\w]/g, String.raw`\$&`);
const codes = (text: string): string =>
  `$'${Array.from(text, (one) => `\\x${one.charCodeAt(0).toString(16)}`).join('')}'`;
const split = (text: string): string => `${single(text.slice(0, 1))}${double(text.slice(1))}`;
const quotings = [plain, single, double, escaped, codes, split];

const line = (words: readonly string[]): string => words.map((one) => plain(one)).join(' ');

const wrappings: readonly ((text: string) => string)[] = [
  (text) => `env A=1 ${text}`,
  (text) => `env -i PATH=/bin ${text}`,
  (text) => `timeout -k 1 5 ${text}`,
  (text) => `nice -n 5 ${text}`,
  (text) => `nohup ${text}`,
  (text) => `setsid ${text}`,
  (text) => `stdbuf -oL ${text}`,
  (text) => `command ${text}`,
  (text) => `time ${text}`,
  (text) => `busybox ${text}`,
  (text) => `xargs ${text}`,
  (text) => `find . -exec ${text} \\;`,
  (text) => `sh -c ${single(text)}`,
  (text) => `bash -lc ${double(text)}`,
  (text) => `bash <<'E'\n${text}\nE`,
  (text) => `bash <<< ${single(text)}`,
  (text) => `echo ${single(text)} | sh`,
  (text) => `printf '%s\\n' ${single(text)} | bash -s`,
  (text) => `bash <(echo ${single(text)})`,
  (text) => `bash -c "$(echo ${single(text)})"`,
  (text) => `echo $( ${text})`,
  // A blank before a parenthesis, since `$((` and `((` begin arithmetic.
  (text) => ` ( ${text} )`,
  (text) => `{ ${text}; }`,
  (text) => `! ${text}`,
  (text) => `if true; then ${text}; fi`,
  (text) => `for i in 1 2; do ${text}; done`,
  (text) => `f() { ${text}; }; f`,
  (text) => `case x in x) ${text};; esac`,
  (text) => `A=1 ${text}`,
  (text) => `${text} > /dev/null 2>&1`,
  (text) => `${text} &`,
  (text) => `cat <(${text})`,
  (text) => `x=$( ${text})`,
  (text) => `echo $((a[$( ${text})]))`,
  (text) => `cat <<E\n$( ${text})\nE`,
];
// A here-document inside a line of its own ends the line: it cannot be put into every wrapping.
const inline = wrappings.filter((wrap) => !wrap('x').includes('\n'));
const separators = [' && ', ' || ', '; ', ' | ', '\n', ' & '];

test('quoting never changes a decision', () => {
  const quoting = array(nat(quotings.length - 1), { minLength: 4, maxLength: 4 });
  check(
    property(word, quoting, (words, how) => {
      const quoted = words.map((one, at) => (quotings[how[at % how.length] ?? 0] ?? plain)(one));
      assert.equal(decide(quoted.join(' ')), decide(line(words)), quoted.join(' '));
    }),
    { numRuns: 1_000 },
  );
});

test('adding a statement never lowers a decision', () => {
  const separator = constantFrom(...separators);
  check(
    property(word, word, separator, (first, second, between) => {
      const text = `${line(first)}${between}${line(second)}`;
      const least = Math.max(decide(line(first)), decide(line(second)), order.indexOf('ask'));
      assert.ok(decide(text) >= least, text);
    }),
    { numRuns: 500 },
  );
});

test('wrapping never lowers a decision, however often', () => {
  const outer = constantFrom(...wrappings);
  const inner = array(constantFrom(...inline), { maxLength: 3 });
  check(
    property(constantFrom(...blocked), outer, inner, (words, last, wraps) => {
      let text = line(words);
      for (const wrap of wraps) text = startsCommand(wrap, text);
      text = startsCommand(last, text);
      assert.equal(order[decide(text)], 'block', text);
    }),
    { numRuns: 1_500 },
  );
});

/** A wrapper starts a program: what is shell syntax goes through a shell of its own. */
function startsCommand(wrap: (text: string) => string, text: string): string {
  const isProgram = /^(?:[\w./-]+|'[^']*')(?: |$)/.test(text) && !/[\n;&|(){}<>$=!]/.test(text);
  const needsProgram = /^(?:env|timeout|nice|nohup|setsid|stdbuf|command|busybox|xargs|find|A=1)/;
  const wraps = needsProgram.test(wrap('x'));
  return wraps && !isProgram ? wrap(`sh -c ${single(text)}`) : wrap(text);
}

test('words as data never block', () => {
  const scary = constantFrom(...blocked).map((words) => line(words));
  const data: readonly ((text: string) => string)[] = [
    (text) => `echo ${single(text)}`,
    (text) => `git commit -m ${single(text)}`,
    (text) => `git log --grep=${single(text)}`,
    (text) => `rg ${single(text)} docs`,
    (text) => `cat <<'E'\n${text}\nE`,
    (text) => `cat > x.sh <<'E'\n${text}\nE`,
    (text) => `x=${single(text)}`,
    (text) => `ls # ${text}`,
    (text) => `[[ $x == ${single(text)} ]]`,
    (text) => `sed -n ${single(`/${text}/p`)} f`,
    (text) => `python3 -c ${single(`print("${text}")`)}`,
    (text) => `curl -d ${single(text)} https://x.example`,
    (text) => `sh x.sh ${single(text)}`,
    (text) => `node -e ${single(`console.log("${text}")`)}`,
  ];
  check(
    property(scary, constantFrom(...data), (text, as) => {
      assert.notEqual(order[decide(as(text))], 'block', as(text));
    }),
    { numRuns: 500 },
  );
});

test('any text gets an answer', () => {
  const shapes =
    'rm -rf \' " $( ) ` ${ } | & ; < > <<E \\ sh -c env xargs find -exec echo * .env ' +
    '$API_KEY (( )) python3 git -S { , [ ] # = \u0000 \u202E é 😀 --';
  const pieces = constantFrom(...shapes.split(' '), '\n', ' ');
  const text = array(pieces, { maxLength: 40 }).chain((some) =>
    constantFrom('', ' ').map((between) => some.join(between)),
  );
  check(
    property(text, (some) => {
      const { findings, allowed: rule } = analyseShell(some, 'bash');
      assert.ok(rule === null || findings.length === 0);
    }),
    { numRuns: 2_000 },
  );
});
