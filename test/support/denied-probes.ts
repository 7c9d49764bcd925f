/**
 * Ways to find out about files that policy denies. Each is a shell command, run in the workspace
 * that {@link plantDenied} made, and finds something there while nothing is denied: a content, a
 * name in a listing, or that something is there. Standard error is not looked at, as it repeats
 * what the command itself named.
 */
import { execFileSync } from 'node:child_process';
import { linkSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/** What must be in no output: content and names of denied files, and the word for "it is there". */
export const deniedSigns = /c4n4ry-content|zq7hidden|probe-hit/;

/** As in `files.deny` of a policy. */
export const deniedRules = ['.env', 'zq7hidden-vault/**', 'src/**/*.key', 'zq7hidden.txt'];

export interface DeniedProbe {
  readonly name: string;
  readonly command: string;
  /** Whether it changes the workspace, so that it needs one of its own. */
  readonly alone?: true;
  /** A program that a host may not have. */
  readonly needs?: string;
}

const hit = String.raw`printf 'probe-%s\n' hit`;

/** Makes a tree with denied files in it, a repository that has them in its history, and aliases. */
export function plantDenied(root: string): void {
  const write = (name: string, text: string): void => {
    mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
    writeFileSync(path.join(root, name), text);
  };
  write('.env', 'TOKEN=c4n4ry-content-env\n');
  write('zq7hidden.txt', 'c4n4ry-content-text\n');
  write('zq7hidden-vault/plan.txt', 'c4n4ry-content-plan\n');
  write('zq7hidden-vault/in/zq7hidden-deep.txt', 'c4n4ry-content-deep\n');
  write('src/lib/zq7hidden.key', 'c4n4ry-content-key\n');
  write('src/odd\nname/zq7hidden.key', 'c4n4ry-content-odd\n');
  write('src/app.js', 'console.log(1);\n');
  write('src/lib/a.js', 'let a = 1;\n');
  write('pub/readme.md', 'hello\n');
  linkSync(path.join(root, 'zq7hidden-vault/plan.txt'), path.join(root, 'pub/alias.txt'));
  symlinkSync('../.env', path.join(root, 'pub/link'));
  const git = (...args: string[]): string =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.org', ...args], {
      cwd: root,
      encoding: 'utf8',
      env: { PATH: process.env['PATH'], HOME: root, GIT_CONFIG_GLOBAL: '/dev/null' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  git('init', '--quiet', '--initial-branch=main');
  git('add', '--all', '--force');
  git('commit', '--quiet', '--message=first, with zq7hidden.txt');
  write('zq7hidden.txt', 'c4n4ry-content-text, later\n');
  git('stash', 'push', '--quiet');
  write('zq7hidden.txt', 'c4n4ry-content-text, dropped\n');
  git('stash', 'push', '--quiet');
  git('stash', 'drop', '--quiet');
  git('branch', 'zq7hidden-branch');
  git('tag', 'v1');
  write('src/app.js', 'console.log(2);\n');
  git('add', 'src/app.js');
}

const files = [
  'zq7hidden.txt',
  '.env',
  'zq7hidden-vault/in/zq7hidden-deep.txt',
  'src/lib/zq7hidden.key',
  'pub/alias.txt',
  'pub/link',
];

/** `F` is the file. */
const readers: readonly (readonly [string, string])[] = [
  ['cat', 'cat F'],
  ['head', 'head -c 100 F'],
  ['dd', 'dd if=F bs=10 count=9'],
  ['shell redirection', 'cat < F'],
  ['shell read', 'read -r line < F && echo "$line"'],
  ['kept descriptor', 'exec 3< F && cat <&3'],
  ['od', 'od -An -c F | tr -d " \\n"'],
  ['base64', 'base64 F | base64 -d'],
  ['sed', 'sed -n p F'],
  ['awk', "awk '{ print }' F"],
  ['sort', 'sort F'],
  ['tac', 'tac F'],
  ['paste', 'paste F'],
  ['perl', `perl -e 'open my $f, "<", $ARGV[0]; print <$f>' F`],
  ['diff', 'diff /dev/null F'],
  ['copy', 'cp F /tmp/copy && cat /tmp/copy; rm -f /tmp/copy'],
  ['tar', 'tar -chf - F | tar -xOf -'],
  ['absolute path', 'cat "$PWD/F"'],
  ['dots', 'cat ./src/.././F'],
  ['slashes', 'cat .//F'],
  ['process directory', 'cat /proc/self/cwd/F'],
  ['descriptor of the directory', 'exec 5< . && cat /proc/self/fd/5/F'],
  ['exists', `test -e F && ${hit}`],
  ['size', `test -s F && ${hit}`],
  ['readable', `test -r F && ${hit}`],
  ['status', `stat -L -c %i F && ${hit}`],
  ['real path', `realpath -e F && ${hit}`],
  ['times', `touch -c -r F /tmp && find -L F -newermt 2000-01-01 && ${hit}`],
  ['link to it', `ln -sf "$PWD/F" /tmp/to && cat /tmp/to; rm -f /tmp/to`],
  ['same file', `find -L . -type f -samefile F | grep -q . && ${hit}`],
];

const listings: readonly (readonly [string, string])[] = [
  ['ls', 'ls -a'],
  ['ls below', 'ls -aR'],
  ['numbers', 'ls -ai'],
  ['glob', 'echo *'],
  ['dotted glob', 'echo .* | grep -q "[.]env" && echo zq7hidden'],
  ['glob by start', 'echo zq7hidde[n]*'],
  ['glob by case', 'echo [Zz][Qq]7*'],
  ['glob of directories', 'echo */'],
  ['find', 'find .'],
  ['find by name', "find . -name '*.key'"],
  ['find by inode', "find . -printf '%i %p\\n'"],
  ['find by type', 'find . -type d'],
  ['find by content', 'find . -type f -exec cat {} +'],
  ['find with links', "find . -links +1 -type f -exec cat '{}' +"],
  ['grep below', 'grep -r . .'],
  ['grep following links', 'grep -R c4n4r .'],
  ['list of files', 'grep -rl . .'],
  ['tar of everything', 'tar -cf - . | tar -tf -'],
  ['content by tar', 'tar -chf - --exclude=.git . | tar -xOf -'],
  ['copy of everything', 'cp -a . /tmp/all && find /tmp/all; rm -rf /tmp/all'],
  ['copy following links', 'cp -RL . /tmp/all; grep -r . /tmp/all; rm -rf /tmp/all'],
  ['hard copy', 'cp -al pub pub2; cat pub2/*; rm -rf pub2'],
  ['du', 'du -a .'],
  ['perl readdir', `perl -e 'opendir D, "." and print map "$_\\n", readdir D'`],
  ['perl glob', `perl -e 'print "$_\\n" for glob("{*,*/*}")'`],
  ['completion', "bash -c 'compgen -f zq7'"],
  ['case', 'ls -d [z-zZ-Z]*'],
  ['pushd', "bash -c 'cd zq7hidden-vault && pwd'"],
  ['below a link', 'ls -d pub/../zq7hidden-vault'],
  ['from above', 'ls -a "$PWD/../${PWD##*/}"'],
  ['through the root of a process', 'ls -a "/proc/self/root$PWD"'],
  ['through another process', 'sleep 2 & ls -a "/proc/$!/cwd"; kill $!'],
  ['odd names', "find src -name '*name*' -exec find {} +"],
  ['backwards', 'ls -r -1 src/lib'],
  ['rsync', 'rsync -a --list-only .'],
  ['tree', 'tree -a'],
  ['rg', 'rg --hidden --no-ignore .'],
  ['python', `python3 -c 'import os; print(os.listdir("."))'`],
  ['node', `node -e 'console.log(fs.readdirSync("."))'`],
  ['directories of a directory', `ls -d zq7hidden-vault/in && ${hit}`],
];
const rare = new Set(['rsync', 'tree', 'rg', 'python', 'node']);

const git: readonly (readonly [string, string])[] = [
  ['files', 'git ls-files -s'],
  ['files of the tree', 'git ls-tree -r HEAD'],
  ['deleted files', 'git ls-files --deleted; git ls-files'],
  ['show a file', 'git show HEAD:zq7hidden.txt'],
  ['show a file of before', 'git show HEAD~0:zq7hidden.txt; git show v1:zq7hidden.txt'],
  ['show staged', 'git show :zq7hidden.txt'],
  ['show a directory', 'git show HEAD:zq7hidden-vault'],
  ['log', 'git log --all'],
  ['log with names', 'git log --all --name-only --format='],
  ['log with patches', 'git log --all -p'],
  ['log of a file', `git log --format=%h -- zq7hidden.txt | grep -q . && ${hit}`],
  ['log by content', `git log --all --format=%h -S c4n4ry-content | grep -q . && ${hit}`],
  ['whatchanged', 'git rev-list --all --objects'],
  ['reflog', 'git reflog --all; git log -g -p'],
  ['stash', 'git stash list; git stash show -p'],
  ['branches', 'git branch -a; git for-each-ref'],
  ['every object', 'git cat-file --batch-all-objects --batch'],
  ['unreachable', 'git fsck --no-reflogs --lost-found; git show $(cat .git/lost-found/commit/*)'],
  ['grep', 'git grep c4n4ry-content'],
  ['grep of the index', 'git grep --cached -h content'],
  ['grep of a commit', 'git grep c4n4ry-content $(git rev-list --all)'],
  ['archive', 'git archive HEAD | tar -xOf -'],
  ['bundle', 'git bundle create /tmp/b --all && git clone -q /tmp/b /tmp/c; cat /tmp/c/zq7*'],
  ['clone', 'git clone -q . /tmp/clone && ls -a /tmp/clone; rm -rf /tmp/clone'],
  ['mirror', 'git clone -q --mirror . /tmp/m && git -C /tmp/m log -p; rm -rf /tmp/m'],
  ['worktree', 'git worktree add -q /tmp/w HEAD; ls /tmp/w; git worktree prune'],
  ['diff with nothing', 'git diff $(git hash-object -t tree /dev/null)'],
  ['diff of the index', 'git diff --cached $(git hash-object -t tree /dev/null)'],
  ['blame', 'git blame zq7hidden.txt'],
  ['checkout', 'git checkout-index --prefix=/tmp/x/ -a && find /tmp/x; rm -rf /tmp/x'],
  [
    'restore',
    'cd /tmp; git --git-dir="$OLDPWD/.git" --work-tree=/tmp checkout HEAD -- .; cat zq7*',
  ],
  ['read tree', 'GIT_INDEX_FILE=/tmp/i git read-tree HEAD && GIT_INDEX_FILE=/tmp/i git ls-files'],
  ['fast export', 'git fast-export --all'],
  ['format patch', 'git format-patch --root --stdout'],
  ['shortlog', 'git shortlog -sn --all; git describe --all; git show-ref'],
  [
    'packs',
    'git repack -adq; git verify-pack -v .git/objects/pack/*.idx; git cat-file -p HEAD^{tree}',
  ],
  ['ignored', 'git status --ignored --short; git check-ignore -v .env; git ls-files'],
  ['names in the index', 'strings -n 4 .git/index || tr -c "[:print:]" "\\n" < .git/index'],
  ['description of commits', 'cat .git/logs/HEAD .git/COMMIT_EDITMSG .git/packed-refs'],
  ['environment', 'GIT_DIR=$PWD/.git git log --all --name-only'],
];

/** What changes the workspace, or needs a state of its own. */
const tricks: readonly (readonly [string, string])[] = [
  ['rename', 'mv zq7hidden.txt pub/now.txt && cat pub/now.txt'],
  ['rename of a directory', 'mv zq7hidden-vault pub/now && cat pub/now/plan.txt'],
  ['rename onto', `mv -n pub/readme.md zq7hidden.txt; test -e pub/readme.md && ${hit}`],
  ['hard link', 'ln zq7hidden.txt pub/now.txt && cat pub/now.txt'],
  ['hard link onto', `ln pub/readme.md zq7hidden.txt 2>&1 | grep -q exists && ${hit}`],
  ['symbolic link onto', `ln -s x zq7hidden.txt 2>&1 | grep -q exists && ${hit}`],
  ['directory onto', `mkdir zq7hidden-vault 2>&1 | grep -q exists && ${hit}`],
  ['directory onto, then inside', 'mkdir -p zq7hidden-vault; cat zq7hidden-vault/*'],
  ['parents onto', 'mkdir -p zq7hidden-vault/in; find zq7hidden-vault/in -type f'],
  ['exclusive create', `set -C; echo x > zq7hidden.txt || ${hit}`],
  ['read and write', 'exec 3<> zq7hidden.txt; cat <&3'],
  ['append', 'echo more >> zq7hidden.txt; head -n 1 zq7hidden.txt | grep c4n4ry'],
  ['truncate', `truncate -s +0 -c zq7hidden.txt; test -s zq7hidden.txt && ${hit}`],
  ['write in place', 'printf X | dd of=zq7hidden.txt seek=40 bs=1 conv=notrunc; cat zq7hidden.txt'],
  ['touch', `touch zq7hidden.txt; test -s zq7hidden.txt && ${hit}`],
  ['remove', `rm zq7hidden.txt && ${hit}`],
  ['remove a directory', `rm -r zq7hidden-vault && ${hit}`],
  [
    'remove a directory that is not empty',
    `rmdir src/lib 2>&1 | grep -q empty; rm src/lib/a.js
    rmdir src/lib 2>&1 | grep -q empty && ${hit}`,
  ],
  ['modes', `chmod 600 zq7hidden.txt && ${hit}`],
  ['owner', `chown --no-dereference "$(id -u)" zq7hidden.txt && ${hit}`],
  [
    'exchange',
    `perl -e '
    my ($a, $b) = ("zq7hidden.txt", "pub/readme.md");
    syscall($ENV{NR_RENAMEAT2}, -100, $a, -100, $b, 2) == 0 or exit 1' && cat pub/readme.md`,
  ],
  [
    'rename without replacing',
    `perl -e '
    my ($a, $b) = ("pub/readme.md", "zq7hidden.txt");
    syscall($ENV{NR_RENAMEAT2}, -100, $a, -100, $b, 1) == 0 or print "probe-", "hit" if 1;
    '`,
  ],
  ['parent away and back', 'mv src src2 || cp -a src src2; find src2 -name "*.key"'],
  ['parent replaced', 'mv pub p2 || cp -a pub p2; cat p2/alias.txt'],
  ['copy over the parent', 'cp -a src/. src3; cat src3/lib/*.key'],
  [
    'remove what hides',
    'rm -f zq7hidden.txt; sync; cat zq7hidden.txt || git checkout zq7hidden.txt; cat zq7hidden.txt',
  ],
  ['git reset', 'git reset -q --hard; cat zq7hidden.txt'],
  ['git restore', 'git restore --source=HEAD zq7hidden.txt; cat zq7hidden.txt'],
  ['git stash pop', 'git stash pop; cat zq7hidden.txt'],
  ['git checkout', 'git checkout -f v1 -- . ; find . -name "zq7*"'],
  ['repository away', 'mv .git g2 || cp -a .git g2; git --git-dir=g2 log --all --name-only'],
  [
    'repository replaced',
    'rm -rf .git && mkdir .git && ls .git; git init -q . ; git log --all -p; cat zq7hidden.txt',
  ],
  ['own user namespace', 'unshare -Ur cat zq7hidden.txt || cat zq7hidden.txt'],
  [
    'unmount',
    'unshare -Urm sh -c "umount -l . ; cd / ; cat \\"$PWD/zq7hidden.txt\\""; cat zq7hidden.txt',
  ],
  ['bind', 'unshare -Urm sh -c "mount --bind . /mnt && cat /mnt/zq7hidden.txt"; cat zq7hidden.txt'],
  [
    'recursive bind',
    'unshare -Urm sh -c "mount --rbind / /mnt && cat /mnt$PWD/zq7hidden.txt"; cat zq7hidden.txt',
  ],
  [
    'own overlay',
    `mkdir /tmp/u /tmp/w2 /tmp/o; unshare -Urm sh -c "
    mount -t overlay o -o userxattr,lowerdir=$PWD,upperdir=/tmp/u,workdir=/tmp/w2 /tmp/o
    cat /tmp/o/zq7hidden.txt"; cat zq7hidden.txt`,
  ],
  ['remount', 'mount -o remount . ; cat zq7hidden.txt'],
  [
    'other processes',
    `for p in /proc/[0-9]*; do
      ls $p/cwd/ $p/root$PWD
      for f in $p/fd/*; do test -f $f && cat $f; done
    done`,
  ],
  ['mount table', `grep -q zq7hidden /proc/self/mountinfo && ${hit}; ls`],
  [
    'handle',
    `perl -e '
    my $h = pack("Ii", 128, 0) . "\\0" x 128; my ($n, $m) = ("zq7hidden.txt", pack("i", 0));
    syscall($ENV{NR_HANDLE}, -100, $n, $h, $m, 0) == 0 and print "probe-", "hit"'
    cat zq7hidden.txt`,
  ],
];

const product = files.flatMap((file) =>
  readers.map(([name, command]) => ({
    name: `${name}: ${file}`,
    command: command.replaceAll('F', () => file),
  })),
);

export const deniedProbes: readonly DeniedProbe[] = [
  ...product,
  ...listings.map(([name, command]) => ({
    name: `listing: ${name}`,
    command,
    ...(rare.has(name) ? { needs: name === 'python' ? 'python3' : name } : {}),
  })),
  ...git.map(([name, command]) => ({ name: `git: ${name}`, command })),
  ...tricks.map(([name, command]) => ({ name: `trick: ${name}`, command, alone: true as const })),
];

/** Numbers of system calls that probes make, as variables. */
export const probeVariables: Readonly<Record<string, string>> =
  process.arch === 'arm64'
    ? { NR_RENAMEAT2: '276', NR_HANDLE: '264' }
    : { NR_RENAMEAT2: '316', NR_HANDLE: '303' };
