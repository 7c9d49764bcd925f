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
use strict;
my ($nr_get, $nr_set, $nr_remove, $nr_mknodat) = @ARGV;
my ($opaque, $origin, $yes) = ("user.overlay.opaque", "user.overlay.origin", "y");
$| = 1;
$/ = "\0";
# A path that the system takes: a longer one is reached in steps.
sub near {
  my ($path) = @_;
  return $path if length $path < 4000;
  while (length $path >= 4000) {
    my $cut = rindex($path, "/", 3000);
    chdir(substr($path, 0, $cut) || "/") or return undef;
    $path = substr($path, $cut + 1);
  }
  return $path;
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
    chdir "/" if length $line > 4000;
  }
  print $out;
}
`;

/** The numbers that `layerScript` is given; `null`: not known for this machine. */
export function layerCalls(arch: string): readonly string[] | null {
  if (arch === 'x64') return ['192', '189', '198', '259'];
  return arch === 'arm64' ? ['9', '6', '15', '33'] : null;
}
