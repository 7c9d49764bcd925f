/**
 * Programs that use no file but those that their words name, and run none of them: what a yes to
 * them binds is known from the text. What is not listed may run or load files that nobody named.
 */
const setOf = (...lines: readonly string[]): ReadonlySet<string> =>
  new Set(lines.flatMap((line) => line.split(' ')));

/** Their words are no files: one that is not known beforehand changes nothing that is run. */
export const inertCommands = setOf(
  ': [ [[ break cd continue date declare dirs disown echo exit export false getopts hostname id',
  'jobs kill let local logout nproc popd printf ps pushd pwd read readonly return seq set shift',
  'shopt sleep test times true tty type typeset ulimit umask uname unset uptime wait whoami',
);

/** They read, list, copy or remove what is named. */
export const closedCommands = setOf(
  'arch b2sum base32 base64 basename basenc bunzip2 bzcat cat chgrp chmod chown cksum cmp column',
  'comm cp csplit curl cut dd df diff dir dirname du egrep expand expr factor fgrep file fmt fold',
  'free grep groups gunzip gzip head hexdump join link ln logname ls mapfile md5sum',
  'mkdir mkfifo mktemp mv nl numfmt od paste pathchk pgrep pkill pr printenv readarray readlink',
  'realpath rev rm rmdir sha1sum sha224sum sha256sum sha384sum sha512sum shasum shred stat',
  'strings sum sync tac tail tee touch tr trap tree truncate tsort unexpand uniq unlink unxz',
  'unzstd vdir wc which xxd xz xzcat zcat zstd zstdcat',
);

/** Which file they write need not be what their words say: one that is run may be among them. */
export const writingCommands = setOf(
  'cp mv ln link dd curl csplit gunzip gzip bunzip2 unxz xz unzstd zstd mkfifo truncate',
  'shred touch',
);

/** They write lines of what they read, as those are: a script behind them is that of the file. */
export const filterCommands = setOf('cat egrep fgrep grep head tac tail tee uniq');

/** What they start stands among their words, and is looked at as a command of its own. */
export const transparentWrappers = setOf(
  'builtin chrt command env eval exec flock genv gnice gtimeout ionice nice nohup noglob setsid',
  'stdbuf taskset time timeout',
);

/** Shells whose scripts can be read; `source` and its short form too. */
export const readableShells = setOf(
  'sh bash dash ash zsh ksh ksh93 mksh pdksh oksh yash rbash bash5 zsh5 source .',
);

/** They write what others send: a person cannot know beforehand what that is. */
export const fetchingCommands = setOf(
  'aria2c curl fetch ftp http https lynx lwp-download nc ncat netcat scp sftp socat telnet wget xh',
);

/** Files of HOME that a shell reads before all else, by its options. */
export function shellStartupFiles(name: string, options: readonly string[]): readonly string[] {
  if (/^(?:zsh\d?)$/.test(name)) return ['~/.zshenv'];
  // `exec -l sh` and `exec -a -sh sh` start one, too.
  const isLogin = options.some((text) => /^-[A-Za-z]*[il]|^--(?:login|interactive)/.test(text));
  const isNamed = name === 'exec' && options.some((text) => /^-[cl]*[al]/.test(text));
  return isNamed || (readableShells.has(name) && isLogin) ? ['~/.profile'] : [];
}
