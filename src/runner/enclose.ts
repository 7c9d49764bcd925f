/**
 * Starts programs with the descriptors on their list and no other, even if this process has more
 * open: the last step before a program runs closes the rest. Descriptors are also opened
 * close-on-exec, without exception; this does not rely on it.
 *
 * perl-base closes them, and enters the namespaces. Where it is missing, `nsenter` enters them, and
 * nothing starts while this process has a descriptor open that could be inherited.
 */
import { existsSync } from 'node:fs';
import { TrlError } from '../errors.ts';
import { inheritableDescriptors } from './descriptors.ts';

/** The only variables that a helper on the host's side is ever started with. */
export const helperEnvironment = { PATH: '/usr/bin:/bin' } as const;

/** What a program enters before it is started. */
export interface NamespaceEntry {
  /** Names for `nsenter`, by the path of each, in the order of entering. */
  readonly paths: ReadonlyMap<string, string>;
  /** Whether it becomes uid and gid 0 of the user namespace; else its ids stay. */
  readonly asRoot: boolean;
  readonly nsenter: string;
}

/**
 * Perl of {@link closing}, for scripts that stay: closes all but the descriptors that are given.
 * Takes the system call's number.
 */
export const closeOthersPerl = String.raw`
sub listed {
  my %kept = map { $_ => 1 } @_;
  opendir(my $own, "/proc/self/fd") or return;
  return grep { /^\d+$/ && !$kept{$_} } readdir $own;
}
sub close_all { my $nr = shift; syscall($nr, $_ + 0) for @_ }
`;

/**
 * Arguments: NR_SETNS NR_CLOSE NR_SETGROUPS NR_SETRESUID NR_SETRESGID NR_PRCTL KEPT NAMESPACES
 * ROOT ADOPTS, then the program and its arguments. KEPT and NAMESPACES are lists with commas. What
 * is open is listed before it enters: inside there may be no /proc.
 */
const script = String.raw`
use strict;
my ($nr_setns, $nr_close, $nr_setgroups, @nrs) = splice(@ARGV, 0, 6);
my ($nr_setresuid, $nr_setresgid, $nr_prctl) = @nrs;
my ($kept, $namespaces, $root, $adopts) = splice(@ARGV, 0, 4);
${closeOthersPerl}
sub fail { print STDERR "$_[0]: $!\n"; exit 125 }
my @others = listed(split(/,/, $kept)) or fail("list descriptors");
# Some user namespaces permit it only from outside, some containers only inside.
my $has_left = $root && syscall($nr_setgroups, 0, 0) == 0;
my @spaces = map { open(my $file, "<", $_) or fail("open $_"); $file } split(/,/, $namespaces);
for (@spaces) { syscall($nr_setns, fileno($_), 0) == 0 or fail("enter a namespace") }
if ($root) {
  $has_left || syscall($nr_setgroups, 0, 0) == 0 or fail("leave groups");
  syscall($nr_setresgid, 0, 0, 0) == 0 or fail("change gid");
  syscall($nr_setresuid, 0, 0, 0) == 0 or fail("change uid");
}
# PR_SET_CHILD_SUBREAPER, which stays over exec.
if ($adopts) { syscall($nr_prctl, 36, 1, 0, 0, 0) == 0 or fail("adopt") }
close_all($nr_close, @others);
exec { $ARGV[0] } @ARGV or fail("start $ARGV[0]");
`;

/** setns, close, setgroups, setresuid, setresgid, prctl by Node's name of the architecture. */
const calls: ReadonlyMap<string, readonly number[]> = new Map([
  ['x64', [308, 3, 116, 117, 119, 157]],
  ['arm64', [268, 57, 159, 147, 149, 167]],
]);

const systemPerls = ['/usr/bin/perl', '/bin/perl'];
const systemPerl = systemPerls.find((name) => existsSync(name)) ?? null;

/**
 * The words that start `program` with no descriptors but `kept`, in `namespaces` where some are
 * given. One that `adopts` becomes the parent of what its descendants leave behind.
 *
 * @throws TrlError `SANDBOX_UNAVAILABLE` without perl, when something inheritable is open
 */
export function enclosedArgv(
  program: readonly string[],
  kept: readonly number[],
  {
    perl = systemPerl,
    namespaces = null,
    adopts = false,
  }: { perl?: string | null; namespaces?: NamespaceEntry | null; adopts?: boolean },
): readonly string[] {
  const numbers = calls.get(process.arch);
  const paths = [...(namespaces?.paths ?? [])];
  if (perl !== null && numbers !== undefined) {
    const entered = [
      paths.map(([, path]) => path).join(','),
      namespaces?.asRoot === true ? 1 : 0,
      adopts ? 1 : 0,
    ];
    const words = [...numbers, kept.join(','), ...entered].map(String);
    return [perl, '-e', script, '--', ...words, ...program];
  }
  const [open] = inheritableDescriptors([]);
  if (open !== undefined) {
    const message = `Cannot start a command: without perl it would get descriptor ${open}`;
    throw new TrlError('SANDBOX_UNAVAILABLE', message);
  }
  if (namespaces === null) return program;
  const ids = namespaces.asRoot ? ['-S', '0', '-G', '0'] : ['--preserve-credentials'];
  return [
    namespaces.nsenter,
    ...paths.map(([name, path]) => `--${name}=${path}`),
    ...ids,
    ...program,
  ];
}
