/**
 * Tests from inside what a sandbox enforces: a script that runs as a session's first command, and
 * the judgement of its answer. Pure.
 */
import { hasOwnNetwork } from '../network-access.ts';
import type { Assurance, Grants, SandboxNamespace } from '../command.ts';

/** Every check of the script, in its order. */
export const probeChecks = [
  'no_capabilities',
  'no_new_privileges',
  'system_call_filter',
  'filter_on_first_process',
  'system_read_only',
  'root_read_only',
  'kernel_settings_read_only',
  'host_files_absent',
  'not_host_root',
  'own_processes_only',
  'loopback_only',
  'no_core_dumps',
] as const;
type Check = (typeof probeChecks)[number];

/** What every host has and no sandbox shows, unless it was granted. */
const hostPlaces = [
  '/etc/shadow',
  '/etc/gshadow',
  '/boot',
  '/var/log',
  '/var/lib',
  '/run/systemd',
  '/run/docker.sock',
  '/sys/fs',
];

/** Whether one of two paths lies in the other. */
const isRelated = (one: string, other: string): boolean =>
  one === other || one.startsWith(`${other}/`) || other.startsWith(`${one}/`);

/** More processes than a shell and its shim mean that others are visible. */
const processesMax = 12;

/**
 * A script for any POSIX shell, using nothing but its builtins (a few ms). It opens files for
 * appending without writing, so that it does no harm where nothing is enforced.
 * Real paths in `granted` are not tested.
 * Prints one line `name=1` or `name=0` for each of {@link probeChecks}.
 */
export function probeScript(granted: readonly string[]): string {
  const absent = hostPlaces.filter((place) => !granted.some((path) => isRelated(path, place)));
  return String.raw`
say() { if [ "$2" = "$3" ]; then echo "$1=1"; else echo "$1=0"; fi; }
opened=
try() { if { printf '' >> "$1"; } 2>/dev/null; then opened=$opened$1; fi; }
status() {
  permitted= bounding= privileges= filter=
  while read -r key value; do
    case $key in
      CapPrm:) permitted=$value ;;
      CapBnd:) bounding=$value ;;
      NoNewPrivs:) privileges=$value ;;
      Seccomp:) filter=$value ;;
    esac
  done < "$1"
}
none=0000000000000000
status /proc/self/status
say no_capabilities "$permitted$bounding" $none$none
say no_new_privileges "$privileges" 1
say system_call_filter "$filter" 2
status /proc/1/status
say filter_on_first_process "$filter" 2
try /usr/bin/env; try /etc/passwd; try /etc/ld.so.cache
say system_read_only "$opened" ''
opened=; try /.probe
say root_read_only "$opened" ''
opened=; try /proc/sys/kernel/core_pattern; try /proc/sysrq-trigger
say kernel_settings_read_only "$opened" ''
found=no
for name in ${absent.join(' ')}
do [ -e "$name" ] && found=$name; done
say host_files_absent "$found" no
root=no
[ -O /usr ] && root=yes
say not_host_root "$root" no
set -- /proc/[0-9]*
few=no
[ $# -le ${processesMax} ] && few=yes
say own_processes_only "$few" yes
others=
while read -r name rest; do
  case $name in lo:* | Inter-* | face*) ;; *) others=$name ;; esac
done < /proc/net/dev
say loopback_only "$others" ''
say no_core_dumps "$(ulimit -c)" 0
`;
}

/** The properties that a sandbox was planned with. */
export interface ProbeExpectation {
  readonly level: SandboxNamespace['level'];
  readonly network: Grants['network'];
}

/**
 * The assurance of a session. Fails closed: a check that did not answer is not enforced, and one
 * that is not enforced leaves `none`, except that `root-uid` is known to run as the host's root.
 */
export function judgeProbe(output: string, expected: ProbeExpectation): Assurance {
  const enforced = new Set(output.split('\n').map((line) => line.trim()));
  const isAsked = (name: Check): boolean =>
    name !== 'loopback_only' || hasOwnNetwork(expected.network);
  const checks = probeChecks
    .filter(isAsked)
    .map((name) => ({ name, enforced: enforced.has(`${name}=1`) }));
  const failed = checks.filter((check) => !check.enforced).map((check) => check.name);
  const isRoot = failed.length === 1 && failed[0] === 'not_host_root';
  if (failed.length === 0) {
    return { level: expected.level === 'root-uid' ? 'root-uid' : 'full', checks };
  }
  return { level: isRoot && expected.level === 'root-uid' ? 'root-uid' : 'none', checks };
}
