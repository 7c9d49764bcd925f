/**
 * Resources that the kernel counts per user of the host, not per sandbox. Without a bound of its
 * own, one command could take all of them from every other program of that user.
 *
 * The kernel lets a user namespace have at most so much together with those below it, so the bound
 * is a session's. It is written by perl-base, within the namespace, whose settings it then sees.
 */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { helperEnvironment } from './enclose.ts';

/** A session gets one part in so many of what the host's user may have. */
const share = 4;
/** Commands running at once, each with a few namespaces, and those that are just ending. */
const namespacesMax = 1_024;
const namespaces = ['cgroup', 'ipc', 'mnt', 'net', 'pid', 'time', 'user', 'uts'];
const inotify = ['instances', 'watches'];
const writeMs = 10_000;

/** Arguments: NR_SETNS NAMESPACE, then names below /proc/sys/user, each with its number. */
const script = String.raw`
use strict;
my ($nr_setns, $path) = splice(@ARGV, 0, 2);
sub fail { print STDERR "$_[0]: $!\n"; exit 1 }
open(my $space, "<", $path) or fail("open $path");
syscall($nr_setns, fileno($space), 0x10000000) == 0 or fail("enter $path");
while (my ($name, $value) = splice(@ARGV, 0, 2)) {
  # A kernel that counts none of it has no such name.
  next if !-e "/proc/sys/user/$name";
  open(my $file, ">", "/proc/sys/user/$name") or fail("open $name");
  defined syswrite($file, $value) or fail("write $name");
}
`;

const setns: ReadonlyMap<string, number> = new Map([
  ['x64', 308],
  ['arm64', 268],
]);

/**
 * Bounds a user namespace of ours, by the path of a descriptor of it.
 *
 * @throws Error where the kernel refuses it, as in a container whose /proc/sys is read-only
 */
export async function boundKernelObjects(perl: string, userNamespace: string): Promise<void> {
  const number = setns.get(process.arch);
  if (number === undefined) return;
  const bounds = [
    ...inotify.map((name) => [`max_inotify_${name}`, Math.floor(ofHost(name) / share)]),
    ...['groups', 'marks'].map((name) => [`max_fanotify_${name}`, 0]),
    ...namespaces.map((name) => [`max_${name}_namespaces`, namespacesMax]),
  ];
  const args = ['-e', script, '--', number, userNamespace, ...bounds.flat()].map(String);
  const options = { env: helperEnvironment, timeout: writeMs, cwd: '/' };
  await promisify(execFile)(perl, args, options);
}

/** What a user of the host may have. */
function ofHost(name: string): number {
  return Number(readFileSync(`/proc/sys/fs/inotify/max_user_${name}`, 'utf8'));
}
