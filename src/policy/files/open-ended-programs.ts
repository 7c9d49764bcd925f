/** Programs that run whatever their arguments name: an open allow rule for one allows all. */

const names: ReadonlySet<string> = new Set(
  [
    // shells
    'sh bash dash zsh ksh mksh ash fish csh tcsh rbash busybox toybox pwsh powershell cmd',
    // what starts another program
    'env xargs parallel timeout nice nohup setsid stdbuf time taskset ionice chrt flock watch',
    'command builtin exec eval source . find fd script strace ltrace gdb unshare nsenter chroot',
    'sudo doas su runuser pkexec setpriv ssh mosh tmux screen systemd-run at batch crontab',
    'docker podman kubectl nerdctl npx bunx uvx pipx entr ld.so proot fakeroot',
    // interpreters
    'python python2 python3 pypy pypy3 perl ruby node nodejs deno bun php lua luajit tclsh',
    'awk gawk mawk nawk sed ed ex vi vim nvim emacs osascript Rscript R julia jshell groovy',
  ].flatMap((line) => line.split(' ')),
);

/** `program` as written in a rule: a name or a path. */
export function isOpenEndedProgram(program: string): boolean {
  const base = program.slice(program.lastIndexOf('/') + 1).toLowerCase();
  return names.has(base) || names.has(base.replace(/[\d.]+$/, ''));
}
