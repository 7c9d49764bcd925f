/** Texts made to keep an analysis busy: each shape grows to a size that is asked for. */

export interface Shape {
  readonly name: string;
  readonly shell: 'bash' | 'powershell' | 'cmd';
  readonly make: (size: number) => string;
}

/** `unit` again and again, up to `size` characters; `unit(i)` where each is another. */
function many(unit: string | ((index: number) => string), join = ''): Shape['make'] {
  return (size) => {
    const parts: string[] = [];
    for (let length = 0; length < size; length += join.length) {
      const part = typeof unit === 'string' ? unit : unit(parts.length);
      if (part === '') break;
      parts.push(part);
      length += part.length;
    }
    return parts.join(join).slice(0, Math.max(size, parts[0]?.length ?? 0));
  };
}

/** `open` … `core` … `close`, as deep as the size allows. */
function deep(open: string, close: string, core = 'id'): Shape['make'] {
  return (size) => {
    const levels = Math.floor((size - core.length) / (open.length + close.length));
    return open.repeat(levels) + core + close.repeat(levels);
  };
}

/** `head`, then what `make` makes of the rest of the size, then `tail`. */
function around(head: string, make: Shape['make'], tail = ''): Shape['make'] {
  return (size) => head + make(Math.max(1, size - head.length - tail.length)) + tail;
}

const single = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;
const double = (text: string): string => `"${text.replaceAll(/["$\\`]/g, String.raw`\$&`)}"`;

/** A command line that carries the one before as a word, quoted, as often as the size allows. */
function carried(wrap: (text: string) => string, core = 'echo hi'): Shape['make'] {
  return (size) => {
    let text = core;
    for (;;) {
      const next = wrap(text);
      if (next.length > size) return text;
      text = next;
    }
  };
}

/** Assignments that leave many candidates, then commands that use them. */
function readings(names: number, use: string): Shape['make'] {
  return (size) => {
    const set = Array.from({ length: names }, (_, name) =>
      Array.from({ length: 16 }, (__, value) => `if a; then v${name}=x${value}; fi`).join('\n'),
    );
    return around(`${set.join('\n')}\n`, many(use))(size);
  };
}

const bash: Record<string, Shape['make']> = {
  // Nesting.
  'open substitutions': many('$('),
  'nested substitutions': deep('$(echo ', ')'),
  'nested quoted substitutions': deep('echo "$(', ')"'),
  'nested backticks': carried((text) => `echo \`${text.replaceAll(/[\\`]/g, String.raw`\$&`)}\``),
  'open backticks': many('`'),
  'nested process substitutions': deep('cat <(', ')'),
  'nested parameters': around('echo ', deep('${a:-', '}', 'x')),
  'open parameters': many('${a:-'),
  'nested arithmetic': around('echo ', deep('$((1+', '))', '1')),
  'parentheses in arithmetic': (size) => `echo $((${deep('(', ')', '1')(size - 10)}))`,
  'many terms of arithmetic': around('echo $((1', many('+1'), '))'),
  'arithmetic of names': around("a='x[$(id)]'; echo $((a", many('+a'), '))'),
  'open arithmetic': many('$(('),
  'nested subshells': deep('(', ')'),
  'open subshells': many('( '),
  'nested groups': deep('{ ', '; }'),
  'nested ifs': deep('if a; then ', '; fi'),
  'nested loops': deep('while a; do ', '; done'),
  'nested fors': deep('for i in 1 2; do ', '; done'),
  'nested cases': deep('case a in a) ', ';; esac'),
  'nested functions': deep('f() { ', '; }'),
  'nested tests': (size) => `[[ ${deep('( ', ' )', 'a')(size - 10)} ]]`,
  'negated tests': around('[[ ', many('! '), 'a ]]'),
  'nested braces': around('echo ', deep('{a,', '}', 'b')),
  'open braces': around('echo ', many('{a,')),
  'nested arrays': around('a', deep('[$((a', '))]', '1'), '=1'),
  'nested quotes in substitutions': carried((text) => `echo "$(${text})"`),
  'nested coprocesses': around('', many('coproc '), 'id'),
  'extended globs': around('echo ', deep('@(a|', ')', 'b')),
  // Width.
  words: around('echo', many(' a')),
  'words of an unknown program': around('zork', many(' a')),
  'options of rm': around('rm', many(' -x')),
  'operands of cat': around('cat', many(' a')),
  'words of eval': around('eval', many(' a')),
  'numbered words of eval': around(
    'eval',
    many((at) => ` a${at}`),
  ),
  'words of xargs': around('ls | xargs', many(' a')),
  'words of sudo': around('sudo', many(' a')),
  'words of env': around(
    'env',
    many((at) => ` A${at}=b`),
  ),
  'words of git': around('git log', many(' a')),
  'words of ssh': around('ssh host', many(' a')),
  'predicates of find': around('find .', many(' -o -name a')),
  'executions of find': around('find .', many(' -exec echo {} ;'.replace(';', String.raw`\;`))),
  'shells of find': around('find .', many(String.raw` -exec sh -c 'id' {} \;`)),
  'one word': many('a'),
  'one word of dots': around('cat ', many('../')),
  'one quoted word': around("echo '", many('a'), "'"),
  'one word of quotes': around('echo ', many("'a'")),
  'one word of double quotes': around('echo ', many('"a"')),
  'one word of escapes': around('echo ', many(String.raw`\a`)),
  'one word of ansi quotes': around('echo ', many(String.raw`$'\x41'`)),
  'a long ansi quote': around("echo $'", many(String.raw`\x41\u263a`), "'"),
  'one word of variables': around('echo ', many('$a')),
  'one word of secret variables': around('echo ', many('$API_KEY')),
  'one word of parameters': around('echo ', many('${a}')),
  'one word of defaults': around('echo ', many('${a:-b}')),
  'replacements in a long value': around(`a=${'x'.repeat(4000)}; echo `, many('${a//x*y/z}')),
  'removals from a long value': around(`a=${'x'.repeat(250)}; echo `, many('${a%%*y}')),
  'slices of a long value': around(`a=${'x'.repeat(4000)}; echo `, many('${a:1}')),
  'a growing value': around(`a=${'x'.repeat(64)}; `, many('a=$a$a; ')),
  'a value appended to': around('a=x; ', many('a+=yy; ')),
  'an array appended to': around('a=(x); ', many('a+=(y); '), 'echo "${a[@]}"'),
  'an array': around('a=(', many('b '), '); echo "${a[@]}"'),
  'an array again and again': around(
    `a=(${'bb '.repeat(60)}); `,
    many('echo "${a[@]}" "${a[@]}" ${a[*]};'),
  ),
  'one word of substitutions': around('echo ', many('$(a)')),
  'one word of backticks': around('echo ', many('`a`')),
  'one word of arithmetic': around('echo ', many('$((1))')),
  'one word of globs': around('echo ', many('*')),
  'one word of brackets': around('echo ', many('[a]')),
  'one word of open brackets': around('echo ', many('[')),
  'globs of dots': around('cat ', many('.e*')),
  'a dotted glob of stars': around('cat .', many('*?[a]')),
  'one word of braces': around('echo ', many('{a,b}')),
  'words of braces': around('echo ', many('{a,b,c}{d,e,f} ')),
  'ranges of braces': around('echo ', many('{1..500} ')),
  'commas in braces': around('echo {', many('a,'), '}'),
  tildes: around('echo', many(' ~a')),
  redirects: around('a', many(' >b')),
  'redirects of descriptors': around('a', many(' 2>&1')),
  'redirects alone': many('>a '),
  'here-documents': many('a <<b\nc\nb\n'),
  'open here-documents': around(
    'a',
    many((at) => ` <<b${at}`),
    '\n',
  ),
  'a long here-document': around('cat <<b\n', many('$a c $(d)\n'), 'b\n'),
  'a here-document for a shell': around('sh <<b\n', many('id; '), '\nb\n'),
  'here-strings': around('a', many(' <<<b')),
  assignments: many('a=b '),
  'named assignments': many((at) => `a${at}=b `),
  'assignments of declare': around('declare', many(' a=b')),
  subscripts: many('a[$b]=c '),
  statements: many('a;'),
  lines: many('a\n'),
  'empty lines': many('\n'),
  blanks: around('a', many(' '), 'b'),
  comments: many('#a\n'),
  'one comment': around('#', many('a')),
  background: many('a&'),
  pipes: around('a', many('|a')),
  'downloads in pipes': around('curl a', many('|cat')),
  ands: around('a', many('&&a')),
  negations: around('', many('! '), 'a'),
  times: around('', many('time '), 'a'),
  'continued lines': around('a', many(' \\\n'), 'b'),
  cases: around('case a in ', many('a) b;; '), 'esac'),
  'patterns of a case': around('case a in a', many('|a'), ') b;; esac'),
  elifs: around('if a; then b; ', many('elif a; then b; '), 'fi'),
  'words of a loop': around('for i in', many(' a'), '; do echo $i; done'),
  'operands of a test': around('[[ a', many(' && a'), ' ]]'),
  'operands of [': around('[ a', many(' -o a'), ' ]'),
  'commands of several readings': readings(1, 'echo $v0\n'),
  'commands of many readings': readings(8, 'echo $v0 $v1 $v2 $v3 $v4 $v5 $v6 $v7\n'),
  'a long command of several readings': around(
    readings(1, 'a\n')(1),
    around('echo', many(' $v0'), '\n'),
  ),
  'readings of rm': readings(2, 'rm $v0 $v1\n'),
  // Functions, aliases, texts inside texts.
  functions: many((at) => `f${at}() { id; }\n`),
  'calls of a function': around(
    'f() { echo $1; }\n',
    many((at) => `f ${at}\n`),
  ),
  'calls inside functions': around(
    'a() { echo $1; }\nb() { a $1 1; a $1 2; }\nc() { b $1 1; b $1 2; }\nd() { c $1 1; c 2; }\n',
    many((at) => `d ${at}\n`),
  ),
  'a function that calls itself': around('f() { f $1 a; f $1 b; f $1 c; }\n', many('f a\n')),
  'calls of a long function': (size) =>
    `f() {\n${many('echo $1\n')(size / 2)}}\n${many((at) => `f ${at}\n`)(size / 2)}`,
  aliases: many((at) => `alias a${at}=b\n`),
  'words of alias': around(
    'alias',
    many((at) => ` a${at}=b`),
  ),
  'shells in shells': carried((text) => `sh -c ${single(text)}`),
  'shells in double quotes': carried((text) => `sh -c ${double(text)}`),
  'evals in evals': carried((text) => `eval ${single(text)}`),
  'a chain of evals': around('', many('eval '), 'id'),
  'a chain of wrappers': around('', many('env nice timeout 5 nohup '), 'id'),
  'a chain of xargs': around('', many('xargs '), 'id'),
  'a chain of sudo': around('', many('sudo -u a '), 'id'),
  'a chain of finds': around('', many('find . -exec '), 'id'),
  'a chain of busyboxes': around('', many('busybox sh -c '), 'id'),
  'shells side by side': many((at) => `sh -c 'echo ${at}'\n`),
  'shells with variables': many((at) => `sh -c "$a ${at}"\n`),
  'texts piped into shells': many((at) => `echo 'echo ${at}' | sh\n`),
  'one text piped into a shell': around("echo '", many('id; '), "' | sh"),
  'output into a shell': around('printf "', many('id; '), '" | sh'),
  'one text of a shell': around("sh -c '", many('id; '), "'"),
  'one long word for a shell': around("sh -c 'echo ", many('a'), "'"),
  'words for a shell': around("sh -c 'echo", many(' a'), "'"),
  'words of printf': around("printf '%s '", many(' a'), ' | sh'),
  'values printed again': around('x=$(echo a); ', many('x=$(echo $x $x); ')),
  'code of python': around("python3 -c 'import os; ", many('os.system("id");'), "'"),
  'code of node': around("node -e '", many('require("child_process").exec("id");'), "'"),
  'code of awk': around("awk '", many('{system("id")}'), "'"),
  'values expanded again': around("a='$(id)'; ", many('echo ${a@P}; ')),
  traps: many("trap 'id' EXIT\n"),
  // Bytes.
  'two bytes a character': around('echo ', many('é')),
  'invisible characters': around('echo ', many('a\u200B')),
  'full-width letters': around('echo ', many(' －ｒｆ')),
  'confusable words': around('echo', many(' \u2013rf')),
  'lone surrogates': around('echo ', many('\uD800')),
  zeros: around('echo ', many('a\0')),
  'carriage returns': many('a\r\n'),
  backslashes: around('echo ', many('\\')),
  dollars: around('echo ', many('$')),
  'open double quotes': many('"a $(b "'),
  'open single quotes': many("'a\n"),
  'closing brackets': many(')'),
  semicolons: many(';;'),
};

const powershell: Record<string, Shape['make']> = {
  'open brackets': many('('),
  'nested brackets': deep('(', ')'),
  'nested substitutions': deep('"$(', ')"'),
  'nested blocks': deep('& { ', ' }'),
  'nested ifs': deep('if (1) { ', ' }'),
  words: around('echo', many(' a')),
  'one word': many('a'),
  'one word of quotes': around('echo ', many('"a"')),
  'one quoted text': around('echo "', many('a'), '"'),
  'one single text': around("echo '", many('a'), "'"),
  'a here-string': around('echo @"\n', many('$a b\n'), '\n"@'),
  variables: around('echo "', many('$a '), '"'),
  'variables that are known': around(`$a = '${'x'.repeat(500)}'; echo "`, many('$a'), '"'),
  'a growing variable': around(
    "$a0 = 'xxxxxxxxxx'; ",
    many((at) => `$a${at + 1} = "$a${at}$a${at}"; `),
  ),
  concatenations: around("$a = 'a'", many("+'b'")),
  formats: around("'{0}' -f 'a'", many(",'b'")),
  joins: around("('a'", many(",'b'"), ") -join ''"),
  replaces: around("'aaaa'", many(".Replace('a','aa')")),
  operators: around('1', many(' + 1')),
  members: around('$a', many('.b')),
  indexes: around('$a', many('[0]')),
  statements: many('a;'),
  lines: many('a\n'),
  pipes: around('a', many('|a')),
  commas: around('a b', many(',b')),
  redirects: around('a', many(' >b')),
  escapes: around('a ', many('`b')),
  comments: many('#a\n'),
  'block comments': many('<#a#>'),
  'open comments': many('<#'),
  assignments: many('$a = 1;'),
  'named assignments': many((at) => `$a${at} = 1;`),
  calls: many('[io.file]::delete("a");'),
  'shells in shells': carried((text) => `powershell -Command '${text.replaceAll("'", "''")}'`),
  'a chain of shells': around('', many('powershell -Command '), 'id'),
  'a chain of cmd': around('', many('cmd /c '), 'id'),
  'texts of iex': many((at) => `iex 'echo ${at}';`),
  'one text of iex': around("iex '", many('id;'), "'"),
  removals: many((at) => `Remove-Item a${at};`),
  aliases: many((at) => `sal a${at} b;`),
  'chained aliases': many((at) => `sal a${at + 1} a${at};`),
  'encoded commands': many('powershell -e aQBkAA==;'),
  'one encoded command': around('powershell -e ', many('aQBkAA')),
  'open quotes': many('"a'),
  'at signs': many('@('),
  braces: many('}'),
  types: many('[a]'),
  'curly quotes': around('echo ', many('“a”')),
  verbatim: around('a --%', many(' b')),
  blanks: around('a', many(' '), 'b'),
  ampersands: many('&'),
  dollars: many('$'),
};

const cmd: Record<string, Shape['make']> = {
  'open brackets': many('('),
  'nested brackets': deep('(', ')'),
  'nested ifs': around('', many('if a==a '), 'id'),
  'nested fors': around('', many('for %i in (a) do '), 'id'),
  'nested calls': around('', many('call '), 'id'),
  words: around('echo', many(' a')),
  'words of del': around('del', many(' a')),
  'one word': many('a'),
  quotes: around('echo ', many('"a"')),
  'one quoted text': around('echo "', many('a'), '"'),
  carets: around('echo ', many('^a')),
  'carets alone': many('^'),
  variables: around('echo ', many('%a%')),
  'open variables': around('echo ', many('%')),
  'known variables': around('set a=bbbbbbbbbbbb&', many('echo %a%%a%%a%&')),
  'growing variables': around('set a=bbbbbbbbbbbb&', many('set a=%a%%a%&')),
  'replaced variables': around('set a=bbbbbbbbbbbb&', many('echo %a:b=cc%&')),
  'delayed variables': around('echo ', many('!a!')),
  'named variables': many((at) => `set a${at}=b&`),
  statements: many('a&'),
  lines: many('a\r\n'),
  pipes: around('a', many('|a')),
  redirects: around('a', many(' >b')),
  'redirects of descriptors': around('a', many(' 2>&1')),
  remarks: many('rem a&'),
  labels: many(':a\n'),
  'shells in shells': carried((text) => `cmd /c "${text}"`),
  'a chain of shells': around('', many('cmd /c '), 'id'),
  'a chain of powershell': around('', many('powershell -Command '), 'id'),
  'texts of powershell': many((at) => `powershell -Command "echo ${at}"&`),
  'commands of for': many("for /f %i in ('id') do a&"),
  'one command of for': around("for /f %i in ('", many('id&'), "') do a"),
  'nested commands of for': deep("for /f %i in ('", "') do a"),
  commas: around('del a', many(',b')),
  blanks: around('a', many(' '), 'b'),
  'at signs': many('@'),
  'bash -c': around('bash -c "', many('id;'), '"'),
};

const of = (shell: Shape['shell'], all: Record<string, Shape['make']>): Shape[] =>
  Object.entries(all).map(([name, make]) => ({ name, shell, make }));

export const shapes: readonly Shape[] = [
  ...of('bash', bash),
  ...of('powershell', powershell),
  ...of('cmd', cmd),
];
