/**
 * The part of a holder that only root can do, for perl-base (on every Debian), which can make
 * system calls that no command offers.
 *
 * Arguments: NR_UNSHARE NR_MOUNT NR_SETNS STAGE HOST_UID HOST_GID COUNT, then for each tree
 * `rw|ro UID GID SOURCE`, then the program to become with its arguments.
 *
 * It ends as that program, as uid and gid 0 of a user namespace that maps them to HOST_UID and
 * HOST_GID and nothing else, without supplementary groups, in a mount namespace of its own where
 * STAGE/0, STAGE/1 … are the trees: files of UID and GID there belong to HOST_UID and HOST_GID,
 * files of anybody else to ids that nobody has. Exits 9 with `idmap: …` on standard error where
 * mounting is not permitted or a file system refuses an idmapped mount of a writable tree, 1 on any
 * other failure.
 */
export const holderScript = String.raw`
use strict;
my ($nr_unshare, $nr_mount, $nr_setns, $stage, $uid, $gid, $count) = splice(@ARGV, 0, 7);
my ($nr_open_tree, $nr_move_mount, $nr_mount_setattr) = (428, 429, 442);
my ($new_user, $new_ns, $rec, $empty) = (0x10000000, 0x20000, 0x8000, 0x1000);
sub fail { print STDERR "$_[1]: $!\n"; exit $_[0] }

# A user namespace that this process is not in: a child enters it and is mapped from outside.
sub userns {
  my @maps = @_;
  pipe(my $up_r, my $up_w) && pipe(my $down_r, my $down_w) or fail(1, "pipe");
  my $pid = fork() // fail(1, "fork");
  if (!$pid) {
    close $up_r; close $down_w;
    syscall($nr_unshare, $new_user) == 0 or fail(1, "unshare user");
    syswrite($up_w, "x");
    sysread($down_r, my $end, 1);
    exit 0;
  }
  close $up_w; close $down_r;
  sysread($up_r, my $go, 1) or fail(1, "user namespace");
  open(my $ns, "<", "/proc/$pid/ns/user") or fail(1, "open user namespace");
  for my $i (0, 1) {
    open(my $map, ">", "/proc/$pid/" . ("uid_map", "gid_map")[$i]) or fail(1, "open id map");
    defined syswrite($map, $maps[$i]) or fail(1, "write id map");
  }
  close $down_w;
  waitpid($pid, 0);
  return $ns;
}
# Own becomes host; of the first 65536 ids every other moves 65536 further.
sub extents {
  my ($own, $host) = @_;
  my $away = $host + 65536;
  my @lines = ("$own $host 1");
  if ($own > 65535) { push @lines, "0 $away 65536" }
  else {
    push @lines, "0 $away $own" if $own > 0;
    push @lines, ($own + 1) . " " . ($away + $own + 1) . " " . (65535 - $own) if $own < 65535;
  }
  return join("\n", @lines) . "\n";
}
sub clone_tree {
  my ($source, $flags) = @_;
  my $fd = syscall($nr_open_tree, -100, $source, 1 | 0x80000 | $flags);
  $fd >= 0 or fail(1, "open $source");
  return $fd;
}
sub idmapped {
  my ($source, $ro, $space, $flags) = @_;
  my $fd = clone_tree($source, $flags);
  return set_attributes($fd, 0x100000 | $ro, fileno($space), $flags) ? $fd : undef;
}
# Mount points inside a tree, outer ones first.
sub mounts_below {
  my ($source) = @_;
  open(my $info, "<", "/proc/self/mountinfo") or fail(1, "mountinfo");
  my @found;
  while (<$info>) {
    my $at = (split / /)[4];
    $at =~ s/\\([0-7]{3})/chr oct $1/ge;
    push @found, $at if index($at, "$source/") == 0;
  }
  return sort { length $a <=> length $b } @found;
}
sub place {
  my ($fd, $target, $path) = (@_, "");
  syscall($nr_move_mount, $fd, $path, -100, $target, 4) == 0 or fail(1, "place $target");
}
sub set_attributes {
  my ($fd, $set, $ns, $flags) = @_;
  my ($path, $attr) = ("", pack("QQQQ", $set, 0, 0, $ns));
  return syscall($nr_mount_setattr, $fd, $path, $empty | $flags, $attr, 32) == 0;
}

# Root without the right to mount, as in a container, can have a weaker box only.
syscall($nr_unshare, $new_ns) == 0 or fail(9, "idmap: unshare mount");
my ($none, $root, $tmpfs) = ("none", "/", "tmpfs");
my ($staging, $closed) = ("mode=0755,size=1m", "mode=0555,size=4k");
my $no_data = 0;
syscall($nr_mount, $none, $root, $no_data, 0x40000 | 0x4000, $no_data) == 0
  or fail(9, "idmap: make mounts private");
my (%spaces, @trees);
for (1 .. $count) {
  my ($mode, $own_uid, $own_gid, $source) = splice(@ARGV, 0, 4);
  my $space = $spaces{"$own_uid:$own_gid"} //=
    userns(extents($own_uid, $uid), extents($own_gid, $gid));
  my $ro = $mode eq "ro" ? 1 : 0;
  my ($fd, $parts) = (idmapped($source, $ro, $space, $rec), []);
  if (!defined $fd) {
    # A mount inside the tree may refuse where the tree itself does not: each on its own.
    $fd = idmapped($source, $ro, $space, 0);
    for my $at (defined $fd ? mounts_below($source) : ()) {
      push @$parts, [substr($at, length $source), idmapped($at, $ro, $space, 0)];
    }
  }
  if (!defined $fd) {
    fail(9, "idmap: $source") if !$ro;
    # Read-only and as a stranger: what others may read.
    $fd = clone_tree($source, 0);
    set_attributes($fd, $ro, 0, 0) or fail(1, "read-only $source");
  }
  push @trees, [$fd, -d $source, $parts];
}
syscall($nr_mount, $none, $stage, $tmpfs, 6, $staging) == 0 or fail(1, "mount $stage");
for my $i (0 .. $#trees) {
  my ($fd, $is_dir, $parts) = @{$trees[$i]};
  my $target = "$stage/$i";
  if ($is_dir) { mkdir $target or fail(1, "mkdir $target") }
  else { open(my $made, ">", $target) or fail(1, "create $target") }
  place($fd, $target);
  for my $part (@$parts) {
    my ($at, $part_fd) = ($target . $part->[0], $part->[1]);
    if (defined $part_fd) { place($part_fd, $at) }
    # What cannot be shown must not be written beneath either.
    elsif (-d $at) {
      syscall($nr_mount, $none, $at, $tmpfs, 7, $closed) == 0 or fail(1, "close $at");
    }
  }
}
my $mine = userns("0 $uid 1\n", "0 $gid 1\n");
syscall($nr_setns, fileno($mine), $new_user) == 0 or fail(1, "enter user namespace");
$) = "0 0"; $( = 0; $< = 0; $> = 0;
$< == 0 && $> == 0 && $( eq "0 0" && $) eq "0 0" or fail(1, "change ids");
exec { $ARGV[0] } @ARGV or fail(1, "exec $ARGV[0]");
`;

/** System call numbers by Node's name of the architecture: unshare, mount, setns. */
export const holderCalls: ReadonlyMap<string, readonly [number, number, number]> = new Map([
  ['x64', [272, 165, 308]],
  ['arm64', [97, 40, 268]],
]);
