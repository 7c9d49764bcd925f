/**
 * The perl program of `atomic-renames.ts` (perl-base is on every Debian): it makes the system calls
 * that Node does not have.
 *
 * A lease on a file shows whether another process has it open for writing (`EAGAIN`), and blocks
 * one that is about to open it. Such writes must not be lost in a file that is gone, so:
 *
 * 1. The file is checked again under its lease, before anything moves.
 * 2. A displaced file keeps its name and its lease until the whole request is done, and its lease
 * is checked once more. A process that tried to open it meanwhile is blocked there: the file is
 * moved back.
 * 3. A file that is removed on the way back may have been written as well: it is then kept.
 * 4. A program that has looked the name up, but has not run since, can still open the file. For
 * `grace` seconds the displaced file stays open here, without a name: late writes to it are saved
 * in a new file and reported by a line of their own, `late HEX`, the bytes of its path.
 *
 * Contents are being written to the disk before a name leads to them: otherwise a power cut leaves
 * an empty file in the place of an old one. sync_file_range starts writing a new file, which is
 * enough for an ordered journal (ext4), and waits for a replacement (xfs too). Neither waits for
 * the journal.
 *
 * A new file is created in another directory only if it would inherit nothing from its target
 * directory: default ACLs, SELinux labels, a group other than the creator's.
 */
export const renameScript = String.raw`
use strict; use warnings; use Fcntl (); use Errno (); use Time::HiRes ();
my ($nr_statx, $nr_rename, $nr_prctl, $nr_getxattr, $nr_write, $nr_list, $nr_syncfs, $parent) =
  map { $_ + 0 } @ARGV;
syscall($nr_prctl, 1, 9, 0, 0, 0);
exit 0 if getppid() != $parent;
my ($grace, $grace_max, $cwd, $broken, $input) = (1, 256, -100, 0, "");
my ($set_lease, $get_lease, $read, $write, $none) = (1024, 1025, 0, 1, 2);
$SIG{IO} = sub { $broken = 1 }; $| = 1; binmode STDIN; binmode STDOUT;
sub look {
  my $path = $_[0]; my $buffer = "\0" x 256;
  return if syscall($nr_statx, $cwd, $path, 0x100, 0x7ff, $buffer) != 0;
  my ($mode, $ino, $size, $cs, $cn, $ms, $mn) = unpack("x28 S x2 Q Q x48 q L x4 q L", $buffer);
  my $times = sub { $_[0] . sprintf("%09d", $_[1]) };
  my $thing = join(":", $ino, $mode, $size, $times->($ms, $mn));
  return { ino => $ino, file => ($mode & 0170000) == 0100000, thing => $thing,
    key => $thing . ":" . $times->($cs, $cn) };
}
sub move { my ($from, $to, $flags) = @_; syscall($nr_rename, $cwd, $from, $cwd, $to, $flags) == 0 }
# The file of a handle, which may have no name any more.
sub thing { my $path = "/proc/self/fd/" . fileno($_[0]) . "\0"; my $buffer = "\0" x 256;
  return "" if syscall($nr_statx, $cwd, $path, 0, 0x7ff, $buffer) != 0;
  my ($mode, $ino, $size, $ms, $mn) = unpack("x28 S x2 Q Q x64 q L", $buffer);
  return join(":", $ino, $mode, $size, $ms . sprintf("%09d", $mn));
}
# "open", or a handle and whether it has a lease: not every file system and not every owner has.
sub lease {
  # Not to wait, and not through a link: O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC.
  sysopen(my $file, $_[0], Fcntl::O_RDONLY() | Fcntl::O_NONBLOCK() | Fcntl::O_NOFOLLOW())
    or return ("free", undef, 0);
  return ("free", $file, 1) if fcntl($file, $set_lease, $read);
  return ("open", undef, 0) if $!{EAGAIN};
  return ("free", $file, 0);
}
# Whether nobody came for it: the lease was not asked back, and can be had once more.
sub holds {
  my $file = $_[0];
  my $held = fcntl($file, $get_lease, 0);
  return defined $held && $held == 0 && fcntl($file, $set_lease, $read);
}
# Whether what we made is as we made it, and nobody is about to write to it.
sub untouched {
  my ($path, $made) = @_;
  my ($state, $file, $leased) = lease($path);
  return 0 if $state eq "open";
  my $now = look($path);
  return $now && $now->{thing} eq $made->{thing} && (!$leased || holds($file));
}
sub back {
  my $one = $_[0]; my ($name, $temporary, $kept) = @$one{qw(name temporary kept)};
  if ($one->{kind} eq "away") {
    return "changed" if move($temporary, $name, 1);
    return move($temporary, $kept, 1) ? "kept" : "refused";
  }
  my %seen;
  for (1 .. 16) {
    my $out = look($temporary) or return "changed";
    if ($out->{ino} == $one->{made}{ino}) {
      last if !untouched($temporary, $one->{made});
      unlink $temporary; return "changed";
    }
    last if $seen{$out->{ino}}++;
    if (!move($temporary, $name, 2)) {
      return "changed" if move($temporary, $name, 1);
    }
  }
  return move($temporary, $kept, 1) ? "kept" : "refused";
}
# Whether a directory gives something of its own to what is made in it.
my %gives;
sub gives {
  my $directory = $_[0];
  return $gives{$directory} if defined $gives{$directory};
  my ($at, $acl, $label) = ("$directory/.", "system.posix_acl_default", "security.selinux");
  my $has = sub { syscall($nr_getxattr, $at, $_[0], 0, 0) >= 0 };
  my $group = $> != 0 && ((stat $at)[2] & 02000);
  return $gives{$directory} = $group || $has->($acl) || $has->($label) ? 1 : 0;
}
sub name {
  my ($name, $temporary) = @_;
  return "done" if move($temporary, $name, 1);
  return "changed" if $!{EEXIST};
  # A file system that cannot do so in one step: then with two names for a moment.
  if (link $temporary, $name) { unlink $temporary; return "done" }
  return "changed" if $!{EEXIST};
  return $!{ENOENT} || $!{ENOSPC} || $!{EDQUOT} || $!{EACCES} ? "refused" : "elsewhere";
}
sub whole { my ($file, $text) = @_;
  sysseek($file, 0, 0);
  for (my $at = 0; $at < length $text;) {
    my $count = syswrite($file, $text, 1 << 20, $at);
    next if !defined $count && $!{EINTR};
    return 0 if !$count;
    $at += $count;
  }
  return truncate $file, length $text;
}
sub slurp { my ($file, $text) = ($_[0], "");
  while (1) {
    my $count = sysread($file, $text, 1 << 20, length $text);
    next if !defined $count && $!{EINTR};
    return defined $count ? $text : undef if !$count;
  }
}
# Gives a file the content of another, while nobody else has it open; who comes for it waits.
sub fill {
  my ($name, $temporary, $key) = @_;
  my $flags = Fcntl::O_NONBLOCK() | Fcntl::O_NOFOLLOW();
  sysopen(my $to, $name, Fcntl::O_RDWR() | $flags) or return "refused";
  fcntl($to, $set_lease, $write) or return $!{EAGAIN} ? "open" : "refused";
  my $found = look($name);
  return "changed" if !$found || $found->{key} ne $key || (stat $to)[1] != $found->{ino};
  sysopen(my $from, $temporary, Fcntl::O_RDONLY() | $flags) or return "refused";
  my ($new, $old) = (slurp($from), slurp($to));
  return "refused" if !defined $new || !defined $old;
  if (!whole($to, $new)) { whole($to, $old); return "refused" }
  syscall($nr_write, fileno($to), 0, 0, 7);
  unlink $temporary;
  return "done";
}
# An answer, or what has been moved and waits for "settle".
sub act {
  my ($kind, $directory, $staging, $key, $name, $temporary, $kept) = @_;
  if ($kind eq "write") { written($name, 2); return "done" }
  return synced($name) ? "done" : "refused" if $kind eq "sync";
  return plain($name, $key) if $kind eq "plain";
  return gives($directory) ? "elsewhere" : "done" if $kind eq "fits";
  return "elsewhere" if $kind ne "away" && $staging ne $directory && gives($directory);
  return name($name, $temporary) if $kind eq "name";
  return fill($name, $temporary, $key) if $kind eq "fill";
  my $found = look($name);
  return "changed" if !$found || $found->{key} ne $key;
  my ($state, $file, $leased) = $found->{file} ? lease($name) : ("free", undef, 0);
  return "open" if $state eq "open";
  if ($file) {
    my $again = look($name);
    return "changed" if !$again || $again->{key} ne $key || (stat $file)[1] != $found->{ino};
  }
  my $made = $kind eq "exchange" ? look($temporary) : {};
  return "refused" if !$made;
  if (!move($name, $temporary, $kind eq "exchange" ? 2 : 1)) {
    return "changed" if $!{ENOENT};
    return "elsewhere" if $!{EXDEV} && $staging ne $directory;
    return $!{EINVAL} || $!{ENOSYS} ? "unsupported" : "refused";
  }
  my $one = { kind => $kind, directory => $directory, name => $name, temporary => $temporary,
    kept => $kept, found => $found, made => $made, file => $file, leased => $leased };
  my $out = look($temporary);
  return $out && $out->{thing} eq $found->{thing} ? $one : back($one);
}
# All of a file system in one go takes a third of what its files take one by one.
sub synced {
  sysopen(my $at, $_[0], Fcntl::O_RDONLY() | Fcntl::O_DIRECTORY()) or return 0;
  return syscall($nr_syncfs, fileno($at)) == 0;
}
# Whether a directory and its files have no attributes that would go along with a move: what an
# overlay notes, ACLs, capabilities. What is in files that changed since then is on its way to the
# disk.
sub plain {
  my ($directory, $key) = @_;
  my ($since, $but) = split / /, $key, 2;
  my %allowed = ("security.selinux" => 1, $but => 1);
  my $is_plain = sub {
    my ($path, $flags) = @_;
    sysopen(my $file, $path, Fcntl::O_RDONLY() | Fcntl::O_NOFOLLOW() | $flags) or return 0;
    my $names = "\0" x 1024;
    my $size = syscall($nr_list, fileno($file), $names, 1024);
    return 0 if $size < 0 && !$!{EOPNOTSUPP};
    return 0 if $size > 0 && grep { !$allowed{$_} } split /\0/, substr($names, 0, $size);
    syscall($nr_write, fileno($file), 0, 0, 2) if !$flags && (stat $file)[10] >= $since;
    return 1;
  };
  return "changed" if !$is_plain->($directory, Fcntl::O_DIRECTORY());
  opendir(my $list, $directory) or return "refused";
  while (defined(my $name = readdir $list)) {
    lstat "$directory/$name";
    return "changed" if -f _ && !$is_plain->("$directory/$name", 0);
  }
  return "done";
}
# Flags of sync_file_range: 2 begins to write, 7 waits for it as well.
sub written {
  my ($path, $flags) = @_;
  my $mode = Fcntl::O_RDONLY() | Fcntl::O_NONBLOCK() | Fcntl::O_NOFOLLOW();
  sysopen(my $file, $path, $mode) or return;
  syscall($nr_write, fileno($file), 0, 0, $flags) if -f $file;
}
my @watched; my %opened;
sub settle {
  my $one = $_[0]; my ($file, $temporary) = @$one{qw(file temporary)};
  my $out = look($temporary);
  my $same = $out && $out->{thing} eq $one->{found}{thing};
  return back($one) if !$same || $one->{leased} && !holds($file);
  unlink $temporary;
  # What has another name is not gone.
  if ($file && (stat $file)[3] == 0 && (my $at = opened($one->{directory}))) {
    my $name = substr $one->{kept}, 1 + rindex $one->{kept}, "/";
    push @watched, { file => $file, leased => $one->{leased}, at => $at, name => $name,
      thing => $one->{found}{thing}, until => Time::HiRes::time() + $grace, written => 0 };
    over(shift @watched, 1) while @watched > $grace_max;
  }
  return "done";
}
# A descriptor of the directory, which outlasts the one that the request names it by.
sub opened {
  my $directory = $_[0];
  return $opened{$directory} if $opened{$directory};
  sysopen(my $at, $directory, 0x200000) or return;
  return $opened{$directory} = $at;
}
# Whether a displaced file needs no more looking after; "last": it will not be asked again.
sub over {
  my ($one, $last) = @_; my $file = $one->{file};
  if ($one->{leased} && !$one->{written}) {
    if (!holds($file)) { fcntl($file, $set_lease, $none); $one->{written} = 1 }
  }
  if ($one->{written}) {
    # Who writes is let finish.
    return 0 if !fcntl($file, $set_lease, $read) && !$last;
  } elsif (!$last && Time::HiRes::time() < $one->{until}) { return 0 }
  keep($one) if thing($file) ne $one->{thing} && (stat $file)[3] == 0;
  return 1;
}
sub keep {
  my ($one) = @_; my $file = $one->{file}; my $at = "/proc/self/fd/" . fileno($one->{at});
  my ($mode, $uid, $gid) = (stat $file)[2, 4, 5];
  my $new = Fcntl::O_WRONLY() | Fcntl::O_CREAT() | Fcntl::O_EXCL() | Fcntl::O_NOFOLLOW();
  sysopen(my $to, "$at/$one->{name}", $new, 0600) or return;
  sysseek($file, 0, 0);
  while (sysread($file, my $bytes, 65536)) { syswrite($to, $bytes) }
  chown $uid, $gid, $to; chmod $mode & 07777, $to;
  print "late ", unpack("H*", (readlink($at) // "") . "/$one->{name}"), "\n";
}
sub tend {
  my $scan = $broken; $broken = 0; my $now = Time::HiRes::time();
  return if !$scan && !grep { $_->{written} || $_->{until} <= $now } @watched;
  @watched = grep { !over($_, 0) } @watched;
}
sub more {
  while (@watched) {
    my $ready = ""; vec($ready, 0, 1) = 1;
    my $count = $broken ? 0 : select($ready, undef, undef, 0.01);
    tend();
    last if $count > 0;
  }
  my $count = sysread(STDIN, $input, 65536, length $input);
  return if !defined $count && $!{EINTR};
  if (!$count) { over($_, 1) for @watched; exit 0 }
}
sub field {
  my $end;
  more() while ($end = index $input, "\0") < 0;
  my $text = substr $input, 0, $end;
  substr($input, 0, $end + 1) = "";
  return $text;
}
while (1) {
  my $count = field();
  my @asked;
  for (1 .. $count) {
    my ($kind, $directory, $staging, $name, $temporary, $kept, $key) = map { field() } 1 .. 7;
    my @paths = ("$directory/$name", "$staging/$temporary", "$directory/$kept");
    push @asked, [$kind, $directory, $staging, $key, @paths];
  }
  my @made = grep { $_->[0] eq "exchange" || $_->[0] eq "name" } @asked;
  written($_->[5], 2) for @made;
  for (@made) { written($_->[5], 7) if $_->[0] eq "exchange" }
  my @acted = map { act(@$_) } @asked;
  print join(" ", map { ref $_ ? settle($_) : $_ } @acted), "\n";
  %opened = (); %gives = ();
}
`;
