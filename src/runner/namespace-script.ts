import { closeOthersPerl } from './enclose.ts';

/**
 * What bubblewrap cannot do for a holder, for perl-base (on every Debian), which can make system
 * calls that no command offers: idmapped mounts, which only root can make, and overlays.
 *
 * Arguments: NR_UNSHARE NR_MOUNT NR_SETNS NR_CLOSE NR_PIVOT_ROOT NR_UMOUNT2 NR_PRCTL KEPT LEVEL
 * STAGE TAKEN TAKEN_USER HOST_UID HOST_GID COUNT (KEPT: the descriptors that the program gets, with
 * commas), then for each tree `rw|ro UID GID SOURCE`, then a count and for each shared tree `UID
 * GID SOURCE INDEX PLACE LAYERS LOWER TOP` (INDEX: of the tree that it is placed in; LOWER, with
 * colons, and TOP are directories in LAYERS, each with `upper` and `work`), then 0 or `1 TREE PLACE
 * UID GID MASK BELOW LAYERS UPPER WORK` (MASK and BELOW may be empty; UPPER and WORK are paths in
 * LAYERS), then the program to become and its arguments.
 *
 * Where it mounts an overlay it prints `keeper PID` first: a process in a mount namespace that has
 * it at /tree and nothing of the host. It ends with this one; a descriptor of the namespace keeps
 * the mount.
 *
 * TAKEN names such a namespace, of another holder: this one gets the same mount. The kernel keeps
 * the promises of a file system (locks, appends, renames, watches) within one overlay only, and a
 * second one with the same upper layer breaks both. TAKEN_USER is the user namespace that it
 * belongs to; empty: the host's. Else both are empty.
 *
 * It ends as that program, as uid and gid 0 of a user namespace that maps them to HOST_UID and
 * HOST_GID and nothing else, in a mount namespace of its own where STAGE/0, STAGE/1 … are the trees
 * and STAGE/tree is the overlay of MASK, TREE and UPPER, shown as owned by the owner of TREE.
 *   root-idmap  without supplementary groups; files of UID and GID in the trees belong to HOST_UID
 *               and HOST_GID, files of others to ids that no user has
 *   user        the namespaces are made with no rights; owners are as they are
 *   root-uid    the same as the host's root, where it may mount
 * Options of a mount can be read inside, so they name neutral paths of the stage only.
 *
 * Exits 9 with `idmap: …` on standard error where mounting is not permitted or a file system
 * refuses an idmapped mount of a writable tree, 10 with `overlay: …` where no overlay can be
 * mounted, 1 on any other failure.
 */
export const namespaceScript = String.raw`
use strict;
my ($nr_unshare, $nr_mount, $nr_setns, $nr_close) = splice(@ARGV, 0, 4);
my ($nr_pivot_root, $nr_umount2, $nr_prctl) = splice(@ARGV, 0, 3);
my ($kept, $level, $stage, $taken, $taken_user) = splice(@ARGV, 0, 5);
my ($uid, $gid, $count) = splice(@ARGV, 0, 3);
my $idmap = $level eq "root-idmap";
# Without idmapped mounts it is for the overlay alone that this script runs.
my ($lost, $why) = $idmap ? (9, "idmap") : (10, "overlay");
my ($nr_open_tree, $nr_move_mount, $nr_openat2, $nr_faccessat2) = (428, 429, 437, 439);
my $nr_mount_setattr = 442;
my ($new_user, $new_ns, $rec, $empty) = (0x10000000, 0x20000, 0x8000, 0x1000);
my ($none, $root, $tmpfs) = ("none", "/", "tmpfs");
my ($staging, $closed) = ("mode=0755,size=1m", "mode=0555,size=4k");
my (%spaces, @trees);
# Whether the mounts that are found here were copied into a namespace with fewer rights.
my $is_locked = 0;
sub refuse { print STDERR "$_[1]\n"; exit $_[0] }
sub fail { refuse($_[0], "$_[1]: $!") }
${closeOthersPerl}
my @others = listed(split(/,/, $kept)) or fail(1, "list descriptors");
close_all($nr_close, @others);
# Opened now: a process in another user namespace may not look into the runner's descriptors.
my @taken = map { $_ eq "" ? undef : namespace($_) } ($taken, $taken_user);
sub namespace {
  my ($path) = @_;
  open(my $file, "<", $path) or fail(1, "open $path");
  return $file;
}
sub enter {
  my ($file, $kind) = @_;
  syscall($nr_setns, fileno($file), $kind) == 0 or fail(1, "enter the view");
}

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
  my ($source, $flags, $code, $for) = (@_, 1, "");
  my $fd = syscall($nr_open_tree, -100, $source, 1 | 0x80000 | $flags);
  $fd >= 0 or fail($code, $for . "open $source");
  return $fd;
}
sub idmapped {
  my ($source, $ro, $space, $flags, @lost) = @_;
  my $fd = clone_tree($source, $flags, @lost);
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

sub exec_program { exec { $ARGV[0] } @ARGV or fail(1, "exec $ARGV[0]") }
# The writer's own ids alone can be mapped without rights.
sub become_owner {
  $is_locked = 1;
  syscall($nr_unshare, $new_user | $new_ns) == 0 or fail(10, "overlay: unshare user");
  for (["setgroups", "deny"], ["uid_map", "0 $uid 1"], ["gid_map", "0 $gid 1"]) {
    open(my $file, ">", "/proc/self/$_->[0]") or fail(10, "overlay: open $_->[0]");
    defined syswrite($file, $_->[1]) or fail(10, "overlay: write $_->[0]");
  }
}
sub take_overlay {
  my $own = namespace("/proc/self/ns/mnt");
  enter($taken[0], $new_ns);
  my $fd = clone_tree("/tree", $rec, 1, "view: ");
  enter($own, $new_ns);
  mkdir "$stage/tree" or fail(1, "mkdir $stage/tree");
  place($fd, "$stage/tree");
}
# This process has every mount of the host, which nobody could unmount as long as it was kept.
sub keep_overlay {
  my ($parent, $here) = ($$, ".");
  pipe(my $from, my $to) or fail(1, "pipe");
  my $pid = fork() // fail(1, "fork");
  if (!$pid) {
    # Ended with its parent, by the kernel.
    syscall($nr_prctl, 1, 9, 0, 0, 0) == 0 && getppid() == $parent or exit 1;
    syscall($nr_unshare, $new_ns) == 0 && chdir($stage) or fail(1, "keep the view");
    syscall($nr_pivot_root, $here, $here) == 0 or fail(1, "keep the view: pivot");
    syscall($nr_umount2, $here, 2) == 0 or fail(1, "keep the view: detach");
    for my $name (0 .. $#trees, "lower", "layers", "mask", "below") {
      my $path = "/$name";
      syscall($nr_umount2, $path, 2) if -e $path;
    }
    syswrite($to, "x");
    close $_ for ($to, $from, *STDIN, *STDOUT, *STDERR);
    sleep 3600 while 1;
  }
  close $to;
  sysread($from, my $go, 1) or exit 1;
  syswrite(STDOUT, "keeper $pid
");
}
sub space_of {
  my ($own_uid, $own_gid) = @_;
  return $spaces{"$own_uid:$own_gid"} //= userns(extents($own_uid, $uid), extents($own_gid, $gid));
}
# One tree without what is mounted below; with its owner, read-only and as the sandbox's own.
sub layer {
  my ($source, @owner) = @_;
  my @lost = (10, "overlay: ");
  return clone_tree($source, 0, @lost) if !$idmap || !@owner;
  return idmapped($source, 1, space_of(@owner), 0, @lost) // fail(9, "idmap: $source");
}
# Mounts in a tree are shown as they are: an overlay has nothing of them.
sub parts_of {
  my ($tree, @owner) = @_;
  my @below = mounts_below($tree);
  refuse(10, "overlay: other file systems are mounted in $tree") if @below && $is_locked;
  return map {
    [substr($_, length $tree), $idmap ? idmapped($_, 0, space_of(@owner), 0) : clone_tree($_, 0)]
  } @below;
}
sub mount_overlay {
  my ($tree, $place, $mask_fd, $below_fd, $layers, $layers_fd, $lower_fd, $upper, $work, $parts)
    = @_;
  my @places = ([$lower_fd, "lower"], [$layers_fd, "layers"]);
  push @places, [$mask_fd, "mask"] if defined $mask_fd;
  push @places, [$below_fd, "below"] if defined $below_fd;
  for (@places) {
    mkdir "$stage/$_->[1]" or fail(1, "mkdir $_->[1]");
    place($_->[0], "$stage/$_->[1]");
  }
  my ($dev, $ino) = stat "$stage/lower";
  "$dev:$ino" eq $place or refuse(1, "\"$tree\" changed meanwhile");
  for (["upper", $upper], ["work", $work]) {
    symlink("layers/$_->[1]", "$stage/$_->[0]") or fail(1, "symlink $_->[0]");
  }
  my ($type, $target) = ("overlay", "$stage/tree");
  mkdir $target or fail(1, "mkdir $target");
  my $lower = (defined $below_fd ? "$stage/below:" : "")
    . (defined $mask_fd ? "$stage/mask:" : "") . "$stage/lower";
  my $options = "lowerdir=$lower,upperdir=$stage/upper,workdir=$stage/work,"
    . "userxattr,index=off,xino=off";
  syscall($nr_mount, $type, $target, $type, 6, $options) == 0 or fail(10, "overlay: mount");
  # The kernel mounts it read-only where it cannot use its work directory.
  my $may_write = syscall($nr_faccessat2, -100, $target, 2, 0) == 0 || $! != 30;
  fail(10, "overlay: write") if !$may_write;
  my $inner = index("$layers/", "$tree/") == 0 ? substr($layers, length $tree) : undef;
  refuse(10, "overlay: its layers can be seen in $tree") if defined $inner && -e "$target$inner";
  place_parts($target, $parts);
}
# What is shown of a tree of the host under a layer, as a mount that is to be placed.
sub shared {
  my ($at, $host_fd, $layers_fd, $lower, $top) = @_;
  my ($type, $target) = ("overlay", "$at/tree");
  mkdir $_ or fail(1, "mkdir $_") for ($at, "$at/host", "$at/layers", $target);
  place($host_fd, "$at/host");
  place($layers_fd, "$at/layers");
  my $below = join(":", (map { "$at/layers/$_/upper" } split(/:/, $lower)), "$at/host");
  my $own = "$at/layers/$top";
  my $options = "lowerdir=$below,upperdir=$own/upper,workdir=$own/work,"
    . "userxattr,index=off,xino=off";
  syscall($nr_mount, $type, $target, $type, 6, $options) == 0 or fail(1, "share: mount");
  my $may_write = syscall($nr_faccessat2, -100, $target, 2, 0) == 0 || $! != 30;
  fail(1, "share: write") if !$may_write;
  my $fd = clone_tree($target, 0, 1, "share: ");
  for my $path ($target, "$at/layers", "$at/host") {
    syscall($nr_umount2, $path, 2) == 0 or fail(1, "share: leave");
  }
  return $fd;
}
# A command may have put links in the way, or have removed it: what is there is not shown then.
sub place_parts {
  my ($target, $parts) = @_;
  return if !@$parts;
  my $top = syscall($nr_open_tree, -100, $target, 0x80000);
  for my $part (@$parts) {
    my ($name, $part_fd) = @$part;
    my ($at, $how, $path) = (substr($name, 1), pack("QQQ", 0x280000, 0, 0xc), "");
    my $at_fd = syscall($nr_openat2, $top, $at, $how, 24);
    next if $at_fd < 0;
    if (defined $part_fd) {
      syscall($nr_move_mount, $part_fd, $path, $at_fd, $path, 0x44) == 0 or fail(1, "place $at");
    }
    # What cannot be shown must not be written beneath either.
    elsif (-d "/proc/self/fd/$at_fd") {
      my $there = "/proc/self/fd/$at_fd";
      syscall($nr_mount, $none, $there, $tmpfs, 7, $closed) == 0 or fail(1, "close $at");
    }
    syscall($nr_close, $at_fd);
  }
  syscall($nr_close, $top);
}

if (defined $taken[1]) {
  $is_locked = 1;
  enter($taken[1], $new_user);
  syscall($nr_unshare, $new_ns) == 0 or fail(1, "unshare mount");
}
# Root without the right to mount, as in a container, can have a weaker box only.
elsif ($level eq "user") { become_owner() }
elsif (syscall($nr_unshare, $new_ns) != 0) {
  $idmap ? fail(9, "idmap: unshare mount") : become_owner();
}
my $no_data = 0;
syscall($nr_mount, $none, $root, $no_data, 0x40000 | 0x4000, $no_data) == 0
  or fail($lost, "$why: make mounts private");
for (1 .. $count) {
  my ($mode, $own_uid, $own_gid, $source) = splice(@ARGV, 0, 4);
  if (!$idmap) {
    push @trees, [clone_tree($source, $rec), -d $source, []];
    next;
  }
  my $space = space_of($own_uid, $own_gid);
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
my @shared;
for (1 .. shift @ARGV) {
  my ($own_uid, $own_gid, $source, $index, $place, $layers, $lower, $top) = splice(@ARGV, 0, 8);
  my @lost = (1, "share: ");
  my $host = $idmap
    ? idmapped($source, 1, space_of($own_uid, $own_gid), 0, @lost) // fail(9, "idmap: $source")
    : clone_tree($source, 0, @lost);
  push @shared, [$index, $place, $host, clone_tree($layers, 0, @lost), $lower, $top];
}
my @overlay;
if (shift @ARGV) {
  my ($tree, $place, $own_uid, $own_gid, $mask, $below, $layers, $upper, $work)
    = splice(@ARGV, 0, 9);
  my @owner = ($own_uid, $own_gid);
  @overlay = ($tree, $place, $mask eq "" ? undef : layer($mask, @owner),
    $below eq "" ? undef : layer($below), $layers,
    layer($layers), layer($tree, @owner), $upper, $work, [parts_of($tree, @owner)]);
}
syscall($nr_mount, $none, $stage, $tmpfs, 6, $staging) == 0 or fail(1, "mount $stage");
for my $i (0 .. $#shared) {
  my ($index, $place, @mount) = @{$shared[$i]};
  push @{$trees[$index][2]}, ["/$place", shared("$stage/s$i", @mount)];
}
for my $i (0 .. $#trees) {
  my ($fd, $is_dir, $parts) = @{$trees[$i]};
  my $target = "$stage/$i";
  if ($is_dir) { mkdir $target or fail(1, "mkdir $target") }
  else { open(my $made, ">", $target) or fail(1, "create $target") }
  place($fd, $target);
  place_parts($target, $parts);
}
if (@overlay) { mount_overlay(@overlay); keep_overlay() }
take_overlay() if defined $taken[0];
exec_program() if !$idmap;
my $mine = userns("0 $uid 1\n", "0 $gid 1\n");
syscall($nr_setns, fileno($mine), $new_user) == 0 or fail(1, "enter user namespace");
$) = "0 0"; $( = 0; $< = 0; $> = 0;
$< == 0 && $> == 0 && $( eq "0 0" && $) eq "0 0" or fail(1, "change ids");
exec_program();
`;

/**
 * System call numbers by Node's name of the architecture: unshare, mount, setns, close, pivot_root,
 * umount2, prctl.
 */
export const namespaceSystemCalls: ReadonlyMap<string, readonly number[]> = new Map([
  ['x64', [272, 165, 308, 3, 155, 166, 157]],
  ['arm64', [97, 40, 268, 57, 41, 39, 167]],
]);
