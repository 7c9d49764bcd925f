/**
 * The programs of the file tools, in perl-base, which every sandbox has because it is entered with
 * it. They run inside the sandbox as any command does: their checks help the caller and protect
 * nothing. Each answers `ok NUMBERS` and a body, or `no` and the reason in one sentence.
 */

/** `place PATH`: its real path; a path outside the project ends the program. */
const common = String.raw`
use strict; use Fcntl qw(:mode :DEFAULT); use Cwd (); use Time::HiRes ();
binmode STDIN; binmode STDOUT;
my ($do, $root, $path, @rest) = @ARGV; my $size = 0;
sub refuse { print "no\nCannot $do \"$path\": $_[0]"; exit 0 }
sub done { my ($head, $real, $body) = @_; $real =~ s/\n/ /g;
  print "ok $head\n$real\n", $body // ""; exit 0 }
sub place {
  refuse("a \"~\" is not expanded; name it from the project") if $path =~ m{^~};
  my $full = $path =~ m{^/} ? $path : Cwd::getcwd() . "/$path";
  my $real = real($full);
  # A link that leads nowhere: what it names is meant.
  for (1 .. 40) { last if !-l $real; my $to = readlink $real;
    $real = real($to =~ m{^/} ? $to : $real =~ s{[^/]*\z}{}r . $to) }
  return $real if "$real/" =~ m{^\Q$root\E/};
  refuse("it is \"$real\", outside the project \"$root\"; terminal may reach it");
}
sub real {
  my ($there, $rest) = ($_[0], "");
  while (!defined(Cwd::realpath($there)) || !(lstat($there) || $rest eq "")) {
    $there =~ s{/+([^/]*)/*$}{} or last;
    $rest = "/$1$rest";
  }
  refuse("\"..\" goes through what does not exist") if $rest =~ m{(^|/)\.\.(/|$)};
  my $real = Cwd::realpath($there eq "" ? "/" : $there);
  refuse($!) if !defined $real;
  return ($real eq "/" ? "" : $real) . $rest;
}
# The file of a handle; what is no regular file is never waited for.
sub regular {
  my ($real, $flags) = @_;
  refuse("it is a directory; list shows it") if -d $real;
  sysopen(my $file, $real, $flags | O_NONBLOCK, 0666) or refuse(
    $!{ENOENT} ? "there is no such file" : $!{ENXIO} ? "it is no regular file" : "$!");
  refuse("it is no regular file") if !-f $file;
  $size = -s _;
  return $file;
}
sub state { my @now = Time::HiRes::stat($_[0]); "$now[7] " . sprintf("%.6f", $now[9]) }
sub whole {
  my ($file, $max, $text) = ($_[0], $_[1], "");
  refuse("it has $size bytes, more than $max; use terminal") if $size > $max;
  while (1) { my $got = sysread($file, $text, 65536, length $text);
    refuse("$!") if !defined $got; last if !$got }
  return $text;
}
sub put {
  my ($file, $text, $at) = ($_[0], $_[1], 0);
  while ($at < length $text) { my $put = syswrite($file, $text, 1048576, $at);
    refuse("$!; the file is incomplete now") if !defined $put; $at += $put }
  close($file) or refuse("$!; the file may be incomplete now");
}
`;

/** ARGV: first line, lines, bytes. Numbers: first, lines, all lines or -1, `state`, then flags. */
export const readProgram = `${common}${String.raw`
my ($from, $lines, $max) = @rest; my $real = place(); my $file = regular($real, O_RDONLY);
my ($now, $line, $shown, $out) = (state($file), 1, 0, "");
my ($ends, $last, $all, $cut, $crlf) = (0, "", 0, 0, 0);
while (my $got = sysread($file, my $block, 65536)) {
  refuse("it is binary, $size bytes; use terminal") if !$all++ && index($block, "\0") >= 0;
  my $here = ($block =~ tr/\n//); $ends += $here; $last = substr($block, -1);
  last if $all > 1024 && ($cut || $shown >= $lines);
  if ($line + $here < $from) { $line += $here; next }
  while (length $block && !$cut && $shown < $lines) {
    my $end = index($block, "\n");
    my $piece = substr($block, 0, $end < 0 ? length $block : $end + 1, "");
    if ($line >= $from) {
      if (length($out) + length($piece) > $max) { $cut = 1;
        my $whole = rindex($out, "\n") + 1;
        if ($whole) { $out = substr($out, 0, $whole) }
        else { $out .= substr($piece, 0, $max - length $out);
          $out =~ s/[\xc0-\xff][\x80-\xbf]{0,2}$//; $shown = 1 }
        last;
      }
      $out .= $piece; $shown++ if $end >= 0;
      $crlf = 1 if substr($out, -2) eq "\r\n";
    }
    $line++ if $end >= 0;
  }
}
$shown++ if !$cut && $shown < $lines && $out =~ /[^\n]\z/;
my $total = $ends + ($last ne "" && $last ne "\n" ? 1 : 0);
refuse("it has $total lines") if $from > 1 && $from > $total && $all <= 1024;
$total = -1 if $all > 1024;
my $open = $last ne "\n" && $from + $shown > $total ? 1 : 0;
done(join(" ", $from, $shown, $total, $now, $cut, $crlf, $open), $real, $out);
`}`;

/**
 * STDIN: the text. Numbers: whether it is new, was identical, had CRLF; `state` before and after.
 */
export const writeProgram = `${common}${String.raw`
my $real = place(); my $text = whole(*STDIN, 1 << 30); my $there = lstat($real);
my ($before, $was, $old) = ("0 0", "", "");
if ($there) { my $file = regular($real, O_RDONLY); $old = state($file);
  $was = $size > 16777216 ? undef : whole($file, 16777216); $before = $old }
if (!$there) { my $at = $root;
  for my $part (split m{/}, substr($real, length $root) =~ s{/?[^/]*$}{}r) {
    next if $part eq ""; $at .= "/$part";
    -d $at or mkdir($at) or refuse("\"$at\": $!");
  } }
my $same = $there && defined $was && $was eq $text ? 1 : 0;
put(regular($real, O_WRONLY | O_CREAT | O_TRUNC), $text) if !$same;
my $crlf = defined $was && $was =~ /\r\n/ && $text =~ /\n/ && $text !~ /\r\n/ ? 1 : 0;
done(join(" ", $there ? 0 : 1, $same, $crlf, $before, state($real)), $real);
`}`;

/** ARGV: bytes of the old text, whether all. STDIN: old and new. Numbers: matches, CRLF, states. */
export const editProgram = `${common}${String.raw`
my ($bytes, $every) = @rest; my $real = place(); my $given = whole(*STDIN, 1 << 30);
my ($old, $new) = (substr($given, 0, $bytes), substr($given, $bytes));
my $file = regular($real, O_RDONLY); my $before = state($file);
my $text = whole($file, 16777216); my $crlf = 0;
refuse("it is binary; use terminal") if index(substr($text, 0, 65536), "\0") >= 0;
sub places { my ($at, @all) = (0);
  while (($at = index($text, $old, $at)) >= 0) { push @all, $at; $at += length $old } @all }
sub lines { my ($at, $line, @all) = (0, 1);
  for my $next (@_) { $line += (substr($text, $at, $next - $at) =~ tr/\n//); $at = $next;
    push @all, $line } @all }
my @found = places();
if ($text =~ /\r\n/ && $text !~ /(?<!\r)\n/ && $old !~ /\r\n/ && "$old$new" =~ /\n/) {
  my $exact = $old; $old =~ s/\n/\r\n/g; @found = places();
  if (@found) { $crlf = 1; $new =~ s/\r?\n/\r\n/g } else { $old = $exact; @found = places() }
}
if (!@found) {
  my $why = "the old text is not in it";
  my $loose = join("\\s+", map { quotemeta } split(" ", $old));
  if ($loose ne "" && length($text) < 1048576 && $text =~ /$loose/) {
    $why .= "; line " . (lines($-[0]))[0] . " differs from it in white space alone" }
  refuse($why);
}
if (@found > 1 && !$every) {
  my @at = lines(@found); my $more = @at > 8 ? ", …" : "";
  refuse("the old text is in it " . @at . " times (lines " . join(", ", grep { defined } @at[0..7])
    . "$more); give more of what is around it, or replace_all");
}
my ($after, $at) = ("", 0);
for my $next (@found) {
  $after .= substr($text, $at, $next - $at) . $new; $at = $next + length $old }
$after .= substr($text, $at); my @at = lines(@found);
refuse("it was written meanwhile; read it again") if state($real) ne $before;
put(regular($real, O_WRONLY | O_TRUNC), $after);
splice(@at, 20) if @at > 20;
done(join(" ", scalar @found, $crlf, $before, state($real), @at), $real);
`}`;

/**
 * `walk DIR DEPTH VISIT`: each entry in the order of the names, never through a link; directories
 * that tools create are named and not entered. `like GLOB`: a pattern of it.
 */
const walking = String.raw`
my $seen = 0;
sub shown { my $name = $_[0]; $name =~ s/([\x00-\x1f\x7f\\])/sprintf("\\x%02x", ord $1)/ge; $name }
sub walk {
  my ($dir, $name, $depth, $visit) = @_;
  opendir(my $open, $dir) or return;
  for my $one (sort grep { $_ ne "." && $_ ne ".." } readdir $open) {
    return if ++$seen > 500000;
    lstat("$dir/$one") or next;
    my $isDir = -d _;
    $visit->("$name$one", "$dir/$one", $isDir) or return;
    walk("$dir/$one", "$name$one/", $depth - 1, $visit)
      if $isDir && $depth > 1 && $one ne ".git" && $one ne "node_modules";
  }
}
sub like {
  my $glob = $_[0]; my $in = 0;
  my $text = join "", map {
    $_ eq "**/" ? "(?:.*/)?" : $_ eq "**" ? ".*" : $_ eq "*" ? "[^/]*" : $_ eq "?" ? "[^/]"
    : $_ eq "{" ? do { $in++; "(?:" } : $_ eq "}" && $in ? do { $in--; ")" }
    : $_ eq "," && $in ? "|" : /^\[/ ? do { s/^\[!/[^/; $_ } : quotemeta
  } $glob =~ /\*\*\/|\*\*|\*|\?|\{|\}|,|\[!?[^\]\/\[]+\]|./gs;
  $text .= ")" x $in;
  my $found = eval { $glob =~ m{/} ? qr{^$text$}s : qr{(?:^|/)$text$}s };
  refuse("\"$glob\" is no pattern of names") if !defined $found;
  return $found;
}
`;

/** ARGV: depth, pattern of names, entries, bytes. Numbers: entries, whether there are more. */
export const listProgram = `${common}${walking}${String.raw`
my ($depth, $glob, $max, $bytes) = @rest; my $real = place();
refuse("there is no such directory") if !-e $real;
refuse("it is no directory; read shows a file") if !-d _;
my ($only, $count, $more, $out) = ($glob eq "" ? undef : like($glob), 0, 0, "");
opendir(my $open, $real) or refuse("$!"); closedir $open;
walk($real, "", $depth, sub {
  my ($name, $full, $isDir) = @_;
  return 1 if $only && ($isDir || $name !~ $only);
  if ($count >= $max || length $out > $bytes) { $more = 1; return 0 }
  my $to = -l $full ? readlink $full : undef;
  my $mark = $isDir ? "/" : defined $to ? " -> " . shown($to) : -f $full ? ""
    : -p $full ? " (FIFO)" : -S $full ? " (socket)" : " (device)";
  $out .= shown($name) . "$mark\n"; $count++;
  return 1;
});
$more = 1 if $seen > 500000;
done("$count $more", $real, $out);
`}`;

/**
 * ARGV: pattern, pattern of names, ignore case, lines around, matches, bytes. ripgrep searches if
 * it is installed and accepts the pattern; otherwise perl, in files that git does not ignore.
 * Numbers: matches, whether there are more.
 */
export const searchProgram = `${common}${walking}${String.raw`
my ($pattern, $glob, $fold, $around, $max, $bytes) = @rest; my $real = place();
refuse("there is no such file or directory") if !-e $real;
refuse("it is no regular file") if !-d _ && !-f _;
my ($count, $more, $out) = (0, 0, ""); (my $prefix = $path) =~ s{/+$}{};
$prefix = "/" if $prefix eq ""; $prefix =~ s{^(\./)+}{}; my $isAll = $prefix eq ".";
sub line { my ($name, $number, $mark, $text) = @_;
  $text =~ s/\r?\n?$//;
  if (length $text > 400) { $text = substr($text, 0, 400); $text =~ s/[\xc0-\xff][\x80-\xbf]*$//;
    $text .= " …" }
  if (($mark eq ":" && $count >= $max) || length $out > $bytes) { $more = 1; return 0 }
  $count++ if $mark eq ":"; $out .= shown($name) . "$mark$number$mark $text\n"; return 1 }
sub ripgrep {
  my @with = ("rg", "--no-config", "--hidden", "-nH", "--null", "--no-heading", "--no-messages",
    "--color=never", "--sort=path", "-C$around", $fold ? "-i" : "-s", "-g", "!.git");
  push @with, "-g", $glob if $glob ne "";
  open(my $null, ">&", \*STDERR); open(STDERR, ">", "/dev/null");
  my $id = open(my $from, "-|", @with, "-e", $pattern, "--", $isAll ? "." : $path);
  open(STDERR, ">&", $null);
  return 0 if !$id;
  while (my $row = <$from>) {
    if ($row eq "--\n") { $out .= $row; next }
    my ($name, $number, $mark, $text) = $row =~ /^(.*?)\0(\d+)([:-])(.*)$/s or next;
    $name =~ s{^\./}{}; $name =~ s{/\K/+}{}g;
    line($name, $number, $mark, $text) or do { kill("TERM", $id); last };
  }
  close($from);
  return $more || $count || ($? >> 8) == 1;
}
sub scan { my ($name, $full, $match) = @_;
  sysopen(my $file, $full, O_RDONLY | O_NONBLOCK | O_NOFOLLOW) or return 1;
  -f $file or return 1;
  sysread($file, my $head, 8192); return 1 if index($head, "\0") >= 0; sysseek($file, 0, 0);
  my ($number, $last, $after, @before) = (0, -1, 0);
  while (my $text = <$file>) {
    $number++; my $wide = $text; $wide =~ s/\r?\n$//; utf8::decode($wide);
    if ($wide =~ $match) {
      if ($around && $out ne "" && $number - @before > $last + 1) { $out .= "--\n" }
      for (@before) { line($name, $_->[0], "-", $_->[1]) or return 0 }
      @before = (); $after = $around; $last = $number;
      line($name, $number, ":", $text) or return 0;
    } elsif ($after > 0) { $after--; $last = $number; line($name, $number, "-", $text) or return 0 }
    elsif ($around) { push @before, [$number, $text]; shift @before if @before > $around }
  } 1 }
if (!ripgrep()) {
  my $wide = $pattern; utf8::decode($wide);
  my $match = eval { $fold ? qr/$wide/i : qr/$wide/ };
  refuse("the pattern is no regular expression: " . ($@ =~ s/ at -e line.*//sr)) if !defined $match;
  my $only = $glob eq "" ? undef : like($glob);
  if (!-d $real) { scan($prefix, $real, $match) }
  else {
    open(my $null, ">&", \*STDERR); open(STDERR, ">", "/dev/null");
    my $git = open(my $list, "-|", "git", "-C", $real, "ls-files", "-coz", "--exclude-standard");
    my @names = $git ? do { local $/ = "\0"; map { chomp; $_ } <$list> } : ();
    open(STDERR, ">&", $null);
    if (!$git || !close $list) { @names = ();
      walk($real, "", 99, sub { push @names, $_[0] if !$_[2]; 1 }) }
    my %once; @names = grep { !$once{$_}++ } sort @names;
    for my $name (@names) { next if $only && $name !~ $only;
      scan($isAll ? $name : "$prefix/$name", "$real/$name", $match) or last }
  }
}
done("$count $more", $real, $out);
`}`;
