// Commands put together by chance are judged as before, and so are the options of what starts
// other commands: a line for each ten, with how many were decided how.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { analyseShell } from '../src/policy/analyse.ts';
import type { Analysis } from '../src/policy/analysis.ts';
import { analyseWindows } from '../src/policy/windows/analyse.ts';
import './support/still-clock.ts';
import { assertRecorded, fingerprint } from './support/recorded.ts';
import { seeded } from './support/redaction-draw.ts';

const fixtures = path.join(import.meta.dirname, 'fixtures/policy');
const perLine = 10;

function commandsFor(shells: readonly string[]): readonly string[] {
  return ['shell', 'shell-more', 'outward', 'attack', 'windows'].flatMap((file) =>
    readFileSync(path.join(fixtures, `${file}.jsonl`), 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line): { shell: string; command: string } => JSON.parse(line))
      .filter(({ shell, command }) => shells.includes(shell) && command.length < 120)
      .map(({ command }) => command),
  );
}

const decision = ({ findings, allowed }: Analysis): string => {
  if (findings.some(({ bound }) => bound === 'block')) return 'block';
  return findings.length > 0 || allowed === null ? 'ask' : 'allow';
};

function recorded(name: string, all: readonly Analysis[], oneOf = 1): void {
  const lines = Array.from({ length: Math.ceil(all.length / perLine) }, (_, at) => {
    const group = all.slice(at * perLine, (at + 1) * perLine);
    const counts = ['block', 'ask', 'allow'].map(
      (one) => `${group.filter((analysis) => decision(analysis) === one).length} ${one}`,
    );
    return `${at * perLine}\t${counts.join(', ')}\t${fingerprint(group)}`;
  });
  assertRecorded(name, lines, oneOf);
}

/** `A` and `B` stand for commands, `Q` for one in quotes. */
const inBash = [
  'xargs sh -c < f§xargs sh -c <<E\n$(A)\nE§xargs sh -c <<< "$(A)"§xargs -n1 sh -c < <(A)',
  'xargs -I{} A {} <<E\nQ\nE§A <<E\n$(B)\nE§A <<< Q§xargs A <<< Q§A <(B) >(A)§A < <(B)',
  'A | B§A && B§A; B§A || B§A & B§(A)§{ A; }§! A§$(A)§"$(A)"§x=$(A); B $x§`A`§cat <(A)',
  'A > >(B)§time A§if A; then B; fi§while A; do B; done§for x in $(A); do B "$x"; done',
  'case x in x) A;; esac§coproc A§f() { A; }; f§function f { A; }; f; B§bash -c Q§sh -c Q',
  'eval Q§xargs A§A | xargs B§A | sh§sudo A§bash <<E\nA\nE§cat <<E | sh\nA\nE§bash <<< Q',
  'env X=1 A§timeout 5 A§nohup A &§exec A§command A§. <(A)§find . -exec A \\;§trap Q EXIT',
  'x=Q; $x§x=Q; eval "$x"§set -- A; "$@"§ssh h Q§docker run i A§parallel A§echo Q | sh',
  'printf Q | bash§printf "%s" Q | sh§echo -e Q | sh§printf "%b" Q | sh§printf %x 1 | sh',
  'a=(A); "${a[@]}"§${x:-A}§A # B§A \\\n  && B§A 2>&1 | tee f§A > f; B < f§[[ -f A ]] && B',
  'A{1,2}§A*§python -c Q§node -e Q§perl -e Q§make -f <(A)§git -c core.pager=Q log',
  'tar --to-command=Q -xf a§vim -c :!A',
].flatMap((line) => line.split('§'));

const inPowerShell = [
  'A | B§A; B§A && B§A || B§& { A }§. { A }§iex Q§Invoke-Expression "A"§$x = A; B $x§(A)',
  '$(A)§@(A)§if (A) { B } else { A }§foreach ($x in A) { B }§while (A) { B }',
  'do { A } while (B)§switch (1) { 1 { A } }§function f { A }; f§filter f { A }',
  'class C { A }§enum E { A }§workflow w { A }§try { A } catch { B }§powershell -c "A"',
  'pwsh -Command A§powershell -enc QQ==§cmd /c A§Start-Process A§Invoke-Command { A }§A > f',
  '"$(A)"§Get-Command A*§& (Get-Command A)§Set-Alias x A; x§{ A }.Invoke()',
  '[scriptblock]::Create(Q)§A `\n  B§A | % { B }§A | ForEach-Object { B }',
  'Get-Content f | iex§wsl A§wsl -e A§wsl -- A§bash -c "A"§@"\nA\n"@ | iex',
  'iwr http://x | iex§$env:X = Q; A§param($x) A§begin { A }§throw A§return A§-join (A)',
].flatMap((line) => line.split('§'));

const inCmd = [
  'A & B§A && B§A || B§A | B§(A)§(A) & B§if exist f A§if not x==y (A) else (B)',
  'for %i in (1) do A§for /f %i in (\'A\') do B§for /f "tokens=1" %i in (A) do B',
  'for /r %i in (*) do A§call A§start A§start "" A§cmd /c A§cmd /k "A"§cmd /s /c "A & B"',
  'powershell -c "A"§pwsh -nop -c A§A > f§A < f§A ^& B§@A§set x=A & %x%§for %%i in (A) do B',
  'forfiles /c "A"§A ^\n B§echo A | cmd§type f | cmd§wsl A§wsl --exec A§rem A§:: A§A & rem',
].flatMap((line) => line.split('§'));

function composed(
  ways: readonly string[],
  commands: readonly string[],
  count: number,
  analyse: (text: string) => Analysis,
): Analysis[] {
  const random = seeded(count);
  const any = <T>(from: readonly T[], or: T): T => from[Math.floor(random() * from.length)] ?? or;
  return Array.from({ length: count }, (_, at) => {
    const way = ways[at % ways.length] ?? '';
    const parts = new Map([
      ['A', any(commands, '')],
      ['B', any(commands, '')],
      ['Q', `'${any(commands, '').replaceAll("'", `'\\''`)}'`],
    ]);
    return analyse(way.replaceAll(/\b[ABQ]\b/g, (name) => parts.get(name) ?? name));
  });
}

test('commands put together in bash are judged as before', () => {
  const commands = commandsFor(['bash', 'sh', 'zsh']);
  const analyse = (text: string): Analysis => analyseShell(text, 'bash');
  recorded('policy/composed-bash.tsv', composed(inBash, commands, 2_000, analyse));
  const zsh = (text: string): Analysis => analyseShell(text, 'zsh');
  recorded('policy/composed-zsh.tsv', composed(inBash, commands, 400, zsh));
});

for (const [dialect, ways, count] of [
  ['powershell', inPowerShell, 3_000],
  ['cmd', inCmd, 2_000],
] as const) {
  test(`commands put together in ${dialect} are judged as before`, () => {
    const commands = commandsFor([dialect]);
    const analyse = (text: string): Analysis => analyseWindows(text, dialect);
    recorded(`policy/composed-${dialect}.tsv`, composed(ways, commands, count, analyse));
  });
}

const options = [
  'ex exec executionpolicy ep w wi windowstyle v version psc psconsolefile inp',
  'inputformat if o ou outputformat of config configurationname cus custompipename set',
  'settingsfile wo workingdirectory wd f file c command com e enc encodedcommand ec nop',
  'noprofile noni nonint sta mta noe noexit login l i s x n r k help version d u cd',
  'distribution user exec shell-type - init-file rcfile norc posix',
].flatMap((line) => line.split(' '));

test('options of what starts a shell are read as before', () => {
  const starts = ['powershell', 'pwsh', 'cmd', 'bash', 'sh', 'zsh', 'wsl', 'busybox sh', 'fish'];
  const all = starts.flatMap((start) =>
    options.flatMap((option) =>
      ['-', '--', '/', '–'].flatMap((dash) => {
        const text = `${start} ${dash}${option} value -c "sudo id"`;
        const [other, third] = [
          `${start} ${dash}${option} sudo id`,
          `${start} ${dash}${option}:v x`,
        ];
        return [text, other, third].map((each) =>
          start === 'fish' || start === 'bash'
            ? analyseShell(each, 'bash')
            : analyseWindows(each, start === 'cmd' ? 'cmd' : 'powershell'),
        );
      }),
    ),
  );
  recorded('policy/composed-options.tsv', all, 4);
});

const patterns = [
  '* i* ie* *ex i?x ?e? iex* iex? in*on invoke-* *-expression Remove-* *item r*m stop-* *restart*',
  'get-* ge* *x *-item* **ex i*e*x invoke-expressio? re?ove-item restart-compute* none i*x?',
].flatMap((line) => line.split(' '));

test('names by patterns, and printed commands, are read as before', () => {
  const found = patterns.flatMap((pattern) =>
    [`& (Get-Command ${pattern}) x`, `gcm ${pattern} | % { & $_ x }`, `& (gcm '${pattern}')`].map(
      (text) => analyseWindows(text, 'powershell'),
    ),
  );
  const formats = [
    '%s',
    '%x',
    '%b',
    '%%',
    '%c',
    '%d',
    '%5s',
    '%-5s',
    '%q',
    '%',
    '%.2s',
    '\\x72m',
    '\\0162m',
  ];
  const printed = formats.flatMap((format) =>
    [`printf '${format} -rf x' rm | sh`, `printf -- '${format}' 'rm -rf x' y | bash`].concat(
      `echo -e '${format} -rf x' | sh`,
      `echo -n -E '${format}' | sh`,
      `printf '${format}\\n' 'sudo id' 'rm -rf y' | sh`,
    ),
  );
  recorded('policy/composed-printed.tsv', [
    ...found,
    ...printed.map((text) => analyseShell(text, 'bash')),
  ]);
});
