/**
 * Programs that use only the files that their words name, and run none of them: the text alone
 * shows what an approval binds. Other programs may run or load files that are not named.
 */
const setOf = (...lines: readonly string[]): ReadonlySet<string> =>
  new Set(lines.flatMap((line) => line.split(' ')));

/** Their words are not files: an unknown one does not change what runs. */
export const inertCommands = setOf(
  ': [ [[ break cd continue date declare dirs disown echo exit export false getopts hostname id',
  'jobs kill let local logout nproc popd printf ps pushd pwd read readonly return seq set shift',
  'shopt sleep test times true tty type typeset ulimit umask uname unset uptime wait whoami',
);

/** They read, list, copy or remove the named files. */
export const closedCommands = setOf(
  'arch b2sum base32 base64 basename basenc bunzip2 bzcat cat chgrp chmod chown cksum cmp column',
  'comm cp csplit curl cut dd df diff dir dirname du egrep expand expr factor fgrep file fmt fold',
  'free grep groups gunzip gzip head hexdump join link ln logname ls mapfile md5sum',
  'mkdir mkfifo mktemp mv nl numfmt od paste pathchk pgrep pkill pr printenv readarray readlink',
  'realpath rev rm rmdir sha1sum sha224sum sha256sum sha384sum sha512sum shasum shred stat',
  'strings sum sync tac tail tee touch tr trap tree truncate tsort unexpand uniq unlink unxz',
  'unzstd vdir wc which xxd xz xzcat zcat zstd zstdcat',
);

/** They may write files that their words do not name, also one that runs later. */
export const writingCommands = setOf(
  'cp mv ln link dd curl csplit gunzip gzip bunzip2 unxz xz unzstd zstd mkfifo truncate',
  'shred touch',
);

/** They output lines of their input unchanged: a script piped from them is that of the file. */
export const filterCommands = setOf('cat egrep fgrep grep head tac tail tee uniq');

/** The command that they start is among their words, and is examined as one. */
export const transparentWrappers = setOf(
  'builtin chrt command env eval exec flock genv gnice gtimeout ionice nice nohup noglob setsid',
  'stdbuf taskset time timeout',
);

/** Shells whose scripts can be read; `source` and its short form too. */
export const readableShells = setOf(
  'sh bash dash ash zsh ksh ksh93 mksh pdksh oksh yash rbash bash5 zsh5 source .',
);

/** They write received data, which a person cannot know beforehand. */
export const fetchingCommands = setOf(
  'aria2c curl fetch ftp http https lynx lwp-download nc ncat netcat scp sftp socat telnet wget xh',
);

/** Files of HOME that a shell reads first, by its options. */
export function shellStartupFiles(name: string, options: readonly string[]): readonly string[] {
  if (/^(?:zsh\d?)$/.test(name)) return ['~/.zshenv'];
  // `exec -l sh` and `exec -a -sh sh` start one, too.
  const isLogin = options.some((text) => /^-[A-Za-z]*[il]|^--(?:login|interactive)/.test(text));
  const isNamed = name === 'exec' && options.some((text) => /^-[cl]*[al]/.test(text));
  return isNamed || (readableShells.has(name) && isLogin) ? ['~/.profile'] : [];
}
