/**
 * The program behind {@link LayerAttributes}: Node can neither read extended attributes nor make
 * device nodes. For perl-base, which every Debian has.
 *
 * Arguments: NR_LGETXATTR NR_LSETXATTR NR_LREMOVEXATTR NR_MKNODAT.
 *
 * Standard input, every part ended by a NUL: the number of asks, then the asks, each one letter and
 * an absolute path of any length. When all of them were read, the answers come, one line each:
 *
 *   o  is the directory opaque?         `y`, `n`
 *   c  was it copied from below?        `y`, `n`
 *   w  make a whiteout                  `y`
 *   m  make the directory opaque        `y`
 *   u  make it opaque no longer         `y`
 *   f  make it a file of its own        `y`
 *
 * or `!` and an errno. It ends with its standard input.
 */
export const layerScript = String.raw`
use strict; use Fcntl ();
my ($nr_get, $nr_set, $nr_remove, $nr_mknodat) = @ARGV;
my ($opaque, $origin, $yes) = ("user.overlay.opaque", "user.overlay.origin", "y");
$| = 1;
$/ = "\0";
# The way to an entry: each directory is opened in the one above and never through a link, which a
# command may just have put there. What was opened is kept until all of a batch is answered.
my %opened;
sub near {
  my ($path) = @_;
  my $cut = rindex($path, "/");
  my $at = opened(substr($path, 0, $cut)) or return undef;
  return "/proc/self/fd/" . fileno($at) . substr($path, $cut);
}
sub opened {
  my ($directory) = @_;
  return $opened{$directory} if $opened{$directory};
  my $flags = 0x200000 | Fcntl::O_DIRECTORY() | Fcntl::O_NOFOLLOW();
  my $name = "/";
  if ($directory ne "") {
    my $cut = rindex($directory, "/");
    my $above = opened(substr($directory, 0, $cut)) or return undef;
    $name = "/proc/self/fd/" . fileno($above) . substr($directory, $cut);
  }
  %opened = () if keys %opened > 64;
  sysopen(my $at, $name, $flags) or return undef;
  return $opened{$directory} = $at;
}
sub done { return $_[0] == 0 ? "y" : "!" . ($! + 0) }
sub attribute {
  my ($path, $name) = @_;
  my $value = "\0" x 64;
  my $length = syscall($nr_get, $path, $name, $value, 64);
  return substr($value, 0, $length) if $length >= 0;
  # No such attribute, not possible here, too long for what an overlay says with it.
  return undef if $! == 61 || $! == 95;
  return "long" if $! == 34;
  die "!" . ($! + 0) . "\n";
}
sub answer {
  my ($ask, $path) = @_;
  return (attribute($path, $opaque) // "") eq "y" ? "y" : "n" if $ask eq "o";
  return defined attribute($path, $origin) ? "y" : "n" if $ask eq "c";
  return done(syscall($nr_mknodat, -100, $path, 0020000, 0)) if $ask eq "w";
  return done(syscall($nr_set, $path, $opaque, $yes, 1, 0)) if $ask eq "m";
  return done(syscall($nr_remove, $path, $opaque)) if $ask eq "u";
  return done(syscall($nr_remove, $path, $origin)) if $ask eq "f";
  return "!22";
}
while (defined(my $count = <STDIN>)) {
  chomp $count;
  my @asks;
  for (1 .. $count) { push @asks, scalar <STDIN> }
  my $out = "";
  for my $line (@asks) {
    chomp $line;
    my $path = near(substr($line, 1));
    my $said = defined $path ? eval { answer(substr($line, 0, 1), $path) } : "!" . ($! + 0);
    ($said //= $@) =~ s/\n\z//;
    $out .= "$said\n";
  }
  %opened = ();
  print $out;
}
`;

/** The numbers that `layerScript` is given; `null`: not known for this machine. */
export function layerSystemCalls(arch: string): readonly string[] | null {
  if (arch === 'x64') return ['192', '189', '198', '259'];
  return arch === 'arm64' ? ['9', '6', '15', '33'] : null;
}
