/**
 * The commands that may run without approval, each with the flags and operands that it accepts.
 * Spellings: `-s` a flag; `-n=#` a value that is a number, attached or the next word; `=*` any
 * text, `=%` a format, `=@` a path, `=a|b` one of these, `=!` a glob; `[=…]` a value that must be
 * attached; `?=…` one that is the next word or missing; `-#` digits.
 */
import type { AllowRule } from '../allow-rule.ts';

const diff =
  '-p -u --patch -s --no-patch -U[=#] --unified=# --raw --patch-with-raw --minimal ' +
  '--patience' +
  ' --histogram ' +
  '--diff-algorithm=patience|minimal|histogram|myers|default' +
  ' --stat[=*] ' +
  '--compact-summary --numstat --shortstat --dirstat[=*] --summary --patch-with-stat -z ' +
  '--name-only --name-status --color[=always|never|auto] --no-color --color-moved[=*] ' +
  '--no-color-moved --word-diff[=color|plain|porcelain|none] --word-diff-regex=* ' +
  '--color-words[=*] --no-renames --check --full-index --binary --abbrev[=#] --no-abbrev ' +
  '-B[=*] -M[=*] --find-renames[=*] -C[=*] --find-copies[=*] --find-copies-harder -D ' +
  '--irreversible-delete -l=# --diff-filter=* -S=* -G=* --pickaxe-all --pickaxe-regex -R ' +
  '--relative -a --text --ignore-cr-at-eol --ignore-space-at-eol -b ' +
  '--ignore-space-change -w --ignore-all-space --ignore-blank-lines -I=* --inter-hunk-context=# ' +
  '-W --function-context --exit-code --quiet --no-ext-diff --no-textconv --no-prefix ' +
  '--src-prefix=* --dst-prefix=* --ignore-submodules[=all|dirty] --submodule[=short] ' +
  '--indent-heuristic --no-indent-heuristic';

const log =
  `${diff} -n=# -# --max-count=# --skip=# --since=* --after=* --until=* --before=* --author=* ` +
  '--committer=* --grep=* --grep-reflog=* --all-match --invert-grep -i --regexp-ignore-case ' +
  '--basic-regexp -E --extended-regexp -F --fixed-strings -P --perl-regexp --merges --no-merges ' +
  '--min-parents=# --max-parents=# --first-parent --not --all --branches[=*] --tags[=*] ' +
  '--remotes[=*] --glob=* --exclude=* --reflog -g --walk-reflogs --cherry-mark --cherry-pick ' +
  '--cherry --left-only --right-only --left-right --boundary --simplify-by-decoration ' +
  '--full-history --dense --sparse --simplify-merges --ancestry-path --show-pulls --date-order ' +
  '--author-date-order --topo-order --reverse --no-walk --do-walk --pretty[=%] --format[=%] ' +
  '--oneline --abbrev-commit --no-abbrev-commit --encoding=* --notes --no-notes --parents ' +
  '--children --graph --no-graph --date=* --relative-date --decorate[=short|full|auto|no] ' +
  '--no-decorate --decorate-refs=* --decorate-refs-exclude=* --clear-decorations --source ' +
  '--log-size --follow --full-diff --no-mailmap --mailmap --use-mailmap --no-expand-tabs ' +
  '-L=@ -m -c --cc --no-diff-merges --no-show-signature --diff-merges=off|none|on|m|first-parent|' +
  '1|separate|combined|c|dense-combined|cc --root --show-linear-break[=*] -t';

const search =
  '-A=# -B=# -C=# --after-context=# --before-context=# --context=# -c --count --count-matches ' +
  '--color=never|auto|always|ansi --column --no-column --crlf --no-crlf -e=* --regexp=* ' +
  '--encoding=* -E=* --files -l --files-with-matches --files-without-match -F --fixed-strings ' +
  '-g=! --glob=! --iglob=! --glob-case-insensitive --heading --no-heading --hidden ' +
  '--no-hidden -. -i --ignore-case --ignore-file-case-insensitive --include-zero -v ' +
  '--invert-match --json -x --line-regexp -n --line-number -N --no-line-number ' +
  '-m=# --max-count=# ' +
  '--max-columns=# -M=# --max-columns-preview --max-depth=# -d=# --max-filesize=* --mmap ' +
  '--no-mmap -U --multiline --multiline-dotall --no-config --no-ignore --no-ignore-dot ' +
  '--no-ignore-exclude --no-ignore-files --no-ignore-global --no-ignore-messages ' +
  '--no-ignore-parent --no-ignore-vcs --no-messages --no-unicode -0 --null --null-data ' +
  '--one-file-system -o --only-matching --passthru -P --pcre2 --pretty -p -q --quiet -r=* ' +
  '--replace=* -s --case-sensitive -S --smart-case --sort=path|modified|accessed|created|none ' +
  '--sortr=path|modified|accessed|created|none --stats --no-stats -a --text -j=# --threads=# ' +
  '--trim --no-trim -t=* --type=* -T=* --type-not=* --type-list -u --unrestricted --vimgrep -w ' +
  '--word-regexp -H --with-filename -I --no-filename --auto-hybrid-regex ' +
  '--no-require-git --debug ' +
  '--context-separator=* --path-separator=* --field-context-separator=* ' +
  '--field-match-separator=* -h --help -V --version';

const list =
  '-a --all -A --almost-all -b --escape -B --ignore-backups -c -C --color[=always|never|auto] -d ' +
  '--directory -f -F --classify[=always|never|auto] --file-type --format=across|commas|' +
  'horizontal|long|single-column|verbose|vertical --full-time -g --group-directories-first -G ' +
  '--no-group -h --human-readable --si -H --dereference-command-line --hide=* ' +
  '--hyperlink[=always|never|auto] --indicator-style=none|slash|file-type|classify ' +
  '-i --inode -I=* ' +
  '--ignore=* -k --kibibytes -l -L --dereference -m -n --numeric-uid-gid -N --literal -o -p -q ' +
  '--hide-control-chars --show-control-chars -Q --quote-name --quoting-style=* -r --reverse -R ' +
  '--recursive -s --size -S --sort=none|size|time|version|extension|name -t --time=* ' +
  '--time-style=* -T=# --tabsize=# -u -U -v -w=# --width=# -x -X -Z --context -1 --version --help';

export const allowRules: readonly AllowRule[] = [
  {
    id: 'git.status',
    words: ['git', 'status'],
    options:
      '-s --short -b --branch --show-stash --porcelain[=v1|v2|1|2] --long -u[=no|normal|all] ' +
      '--untracked-files[=no|normal|all] --ignore-submodules[=all|dirty] ' +
      '--ignored[=traditional|no|matching] -z --column[=*] --no-column --ahead-behind ' +
      '--no-ahead-behind --renames --no-renames --find-renames[=*]',
    clusters: true,
    operands: 'revisions',
    harden: 'git-tree',
    match: ['git status', 'git status -sb', 'git status --porcelain=v2 -z', 'git status src'],
    noMatch: ['git -C x status', 'git status --porc', 'git status -- /etc', 'git status ../x'],
  },
  {
    id: 'git.diff',
    words: ['git', 'diff'],
    options: `${diff} --cached --staged --merge-base -0 -1 -2 -3 --base --ours --theirs --cc`,
    operands: 'revisions',
    harden: 'git-tree',
    match: ['git diff', 'git diff --cached --stat', 'git diff HEAD~1..HEAD -- src', 'git diff -U5'],
    noMatch: ['git diff --output=x', 'git diff --outp x', 'git diff --ext-diff', 'git diff .env'],
  },
  {
    id: 'git.log',
    words: ['git', 'log'],
    options: log,
    operands: 'revisions',
    harden: 'git-show',
    match: ['git log -5 --oneline', 'git log --grep="rm -rf"', 'git log -p -1 -- a.ts'],
    noMatch: ['git log --output=x', 'git log --format=%GK', 'git log --show-signature'],
  },
  {
    id: 'git.show',
    words: ['git', 'show'],
    options: log,
    operands: 'revisions',
    harden: 'git-show',
    match: ['git show', 'git show HEAD~2:src/a.ts', 'git show --stat HEAD'],
    noMatch: ['git show HEAD:.env', 'git show --textconv HEAD', 'git show --remerge-diff'],
  },
  {
    id: 'git.branch',
    words: ['git', 'branch'],
    options:
      '-a --all -r --remotes -v -vv --verbose --color[=always|never|auto] --no-color ' +
      '--column[=*] --no-column --abbrev[=#] --no-abbrev --sort=* --format=% -i --ignore-case ' +
      '--show-current --points-at=*',
    selecting: '-l --list --contains[=*] --no-contains[=*] --merged[=*] --no-merged[=*]',
    clusters: true,
    operands: 'listing',
    harden: 'git',
    match: ['git branch', 'git branch -avv', 'git branch --list "x/*"', 'git branch --merged main'],
    noMatch: ['git branch x', 'git branch -d x', 'git branch -v x', 'git branch -m a b'],
  },
  {
    id: 'rg',
    words: ['rg'],
    options: search,
    clusters: true,
    operands: 'search',
    harden: 'rg',
    match: ['rg -n "a\\(" src', 'rg -e --pre=sh src', 'rg -- --pre=sh', 'rg sudo', 'rg -uu x'],
    noMatch: ['rg --pre sh x', 'rg x --pre=sh', 'rg -z x', 'rg -f p x', 'rg KEY .env', 'rg x /etc'],
  },
  ...['lint', 'typecheck', 'build', 'test', 'ls'].map((script): AllowRule => ({
    id: `npm.run.${script}`,
    words: ['npm', 'run'],
    options: '-s --silent',
    operands: { exactly: [script] },
    harden: 'npm',
    packageScript: script,
    match: [`npm run ${script}`, `npm run -s ${script}`, `npm run ${script} --silent`],
    noMatch: [`npm run ${script}:x`, `npm run ${script} -- --fix`, `npm --prefix x run ${script}`],
  })),
  {
    id: 'npm.test',
    words: ['npm', 'test'],
    options: '-s --silent',
    operands: 'none',
    harden: 'npm',
    packageScript: 'test',
    match: ['npm test', 'npm test --silent'],
    noMatch: ['npm test -- --watch', 'npm test --script-shell=x', 'npm tes'],
  },
  {
    id: 'npm.ls',
    words: ['npm', 'ls'],
    options: '-a --all --json -l --long -p --parseable --depth=# -g --global -s --silent --link',
    operands: 'packages',
    harden: 'npm',
    match: ['npm ls', 'npm ls --depth=0', 'npm ls react', 'npm ls @types/node --json'],
    noMatch: ['npm ls --prefix /x', 'npm ls --script-shell=x', 'npm ls ../x'],
  },
  {
    id: 'npx.tsc',
    words: ['npx', 'tsc'],
    // `--incremental` writes a file beside the project even then; `--noEmit false` writes all.
    options:
      '-p=@ --project=@ --pretty?=true|false --skipLibCheck?=true|false --strict?=true|false ' +
      '--listFiles?=true|false --explainFiles?=true|false --traceResolution?=true|false ' +
      '--diagnostics?=true|false --extendedDiagnostics?=true|false ' +
      '--noErrorTruncation?=true|false --incremental=false',
    required: '--noEmit',
    operands: 'none',
    harden: 'npx',
    match: ['npx tsc --noEmit --pretty false', 'npx tsc -p tsconfig.json --noEmit --pretty'],
    noMatch: ['npx tsc', 'npx tsc --noEmit false', 'npx tsc --noEmit --outDir x', 'npx -y tsc'],
  },
  {
    id: 'npx.next.lint',
    words: ['npx', 'next', 'lint'],
    options: '--quiet --strict',
    operands: 'none',
    harden: 'npx',
    match: ['npx next lint', 'npx next lint --quiet'],
    noMatch: ['npx next build', 'npx next lint --fix', 'npx next lint /etc'],
  },
  ...['validate', 'generate'].map((task): AllowRule => ({
    id: `npx.prisma.${task}`,
    words: ['npx', 'prisma', task],
    options: '',
    operands: 'none',
    harden: 'npx',
    match: [`npx prisma ${task}`],
    noMatch: [`npx prisma ${task} --schema=/x`, 'npx prisma migrate', `npx -y prisma ${task}`],
  })),
  ...['ls', 'dir'].map((name): AllowRule => ({
    id: name,
    words: [name],
    options: list,
    clusters: true,
    operands: 'listed',
    harden: 'plain',
    match: [name, `${name} -la src`, `${name} -1 --color=never a b`],
    noMatch: [`./${name}`, `${name} --dired`, `${name} --colo`],
  })),
  {
    id: 'pwd',
    words: ['pwd'],
    options: '-L -P --logical --physical',
    operands: 'none',
    harden: 'plain',
    match: ['pwd', 'pwd -P'],
    noMatch: ['pwd x', 'pwd --x'],
  },
  {
    id: 'cat',
    words: ['cat'],
    options:
      '-A --show-all -b --number-nonblank -e -E --show-ends -n --number -s --squeeze-blank -t -T ' +
      '--show-tabs -u -v --show-nonprinting',
    clusters: true,
    operands: 'file',
    harden: 'plain',
    match: ['cat README.md', 'cat -n a.ts', 'cat -- -x', 'cat src/env.ts', 'cat a/../b'],
    noMatch: ['cat a b', 'cat .env', 'cat ../x', 'cat /etc/passwd', 'cat', 'cat -', 'cat --numb a'],
  },
  ...['tsc', 'next', 'prisma'].map((name): AllowRule => ({
    id: `version.npx.${name}`,
    words: ['npx', name, '--version'],
    options: '',
    operands: 'none',
    harden: 'npx',
    match: [`npx ${name} --version`],
    noMatch: [`npx -y ${name} --version`, `npx ${name}@1 --version`, `npx ${name} --version x`],
  })),
  ...['node', 'npm', 'npx', 'python', 'python3', 'tsc', 'next', 'prisma'].map(
    (name): AllowRule => ({
      id: `version.${name}`,
      words: [name, '--version'],
      options: '',
      operands: 'none',
      harden: 'version',
      match: [`${name} --version`],
      noMatch: [`${name} --version x`, `${name} -r ./x --version`, `./${name} --version`],
    }),
  ),
];
