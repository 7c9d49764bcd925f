/**
 * Opens sockets in a session's network namespace and passes them to the runner, for perl-base.
 *
 * Arguments: NR_SETNS NR_SENDMSG USER NETWORK SETUP, then for each socket `tcp|udp|connect ADDRESS
 * PORT`: `connect` is one that is connected to there.
 * USER and NETWORK are paths of namespaces. With SETUP 1 the loopback device first gets the address
 * and the range of names: a local route to a whole range makes each of its addresses this host's
 * ("AnyIP"), so that an accepted socket shows by its own address which name was meant. It is asked
 * of the kernel in its own words (rtnetlink, RFC 3549), since no program for it may be installed.
 *
 * Sockets leave on descriptor 3, a channel of Node's: a line of JSON with the descriptor beside it
 * (SCM_RIGHTS), and a line back for each; an address that is taken is left out, with a sentence on
 * standard error. Exits 1 with one for any other failure.
 */
export const bridgeScript = String.raw`
use strict;
use Socket;
my ($nr_setns, $nr_sendmsg, $user, $network, $setup) = splice(@ARGV, 0, 5);
my ($own, $range, $bits) = ("198.18.0.1", "198.18.0.0", 15);
sub fail { print STDERR "$_[0]: $!\n"; exit 1 }
# Opened first: a process in another user namespace may not look into the runner's descriptors.
my @spaces = map { open(my $space, "<", $_) or fail("open $_"); $space } ($user, $network);
for (@spaces) { syscall($nr_setns, fileno($_), 0) == 0 or fail("enter a namespace") }

sub attribute { my $body = pack("SS", 4 + length $_[1], $_[0]) . $_[1]; $body }
sub request {
  my ($socket, $type, $body) = @_;
  # NLM_F_REQUEST, NLM_F_ACK, NLM_F_CREATE, NLM_F_REPLACE
  my $message = pack("LSSLL", 16 + length $body, $type, 0x505, 1, 0) . $body;
  defined send($socket, $message, 0) or fail("send");
  defined recv($socket, my $answer, 4096, 0) or fail("receive");
  $! = -unpack("x16l", $answer);
  $! == 0 or fail("set up the loopback device");
}
my $loopback = 1;
socket(my $netlink, 16, SOCK_RAW, 0) or fail("netlink");
sub add_address {
  my $address = inet_aton($_[0]);
  # RTM_NEWADDR with IFA_LOCAL and IFA_ADDRESS
  request($netlink, 20, pack("CCCCL", AF_INET, 32, 0, 0, $loopback) .
    attribute(2, $address) . attribute(1, $address));
}
if ($setup) {
  add_address($own);
  # RTM_NEWROUTE with RTA_DST and RTA_OIF: table local, RTPROT_STATIC, RT_SCOPE_HOST, RTN_LOCAL
  request($netlink, 24, pack("CCCCCCCCL", AF_INET, $bits, 0, 0, 255, 4, 254, 2, 0) .
    attribute(1, inet_aton($range)) . attribute(4, pack("L", $loopback)));
}

open(my $channel, "+<&=", 3) or fail("channel");
sub pass {
  my ($descriptor, $text) = @_;
  my $data = "$text\n";
  my $vector = pack("P", $data) . pack("Q", length $data);
  my $control = pack("QllQ", 20, SOL_SOCKET, 1, $descriptor);
  my $header = pack("QLx4", 0, 0) . pack("P", $vector) . pack("Q", 1) .
    pack("P", $control) . pack("Qlx4", length $control, 0);
  syscall($nr_sendmsg, 3, $header, 0) == length $data or fail("pass a socket");
  my $answer = "";
  while ($answer !~ /\n/) { sysread($channel, $answer, 4096, length $answer) or fail("no answer") }
  $answer =~ /NODE_HANDLE_ACK/ or fail("a socket was not taken");
}
while (my ($kind, $address, $port) = splice(@ARGV, 0, 3)) {
  my $is_tcp = $kind ne "udp";
  socket(my $socket, AF_INET, $is_tcp ? SOCK_STREAM : SOCK_DGRAM, 0) or fail("socket");
  if ($is_tcp) { setsockopt($socket, SOL_SOCKET, SO_REUSEADDR, 1) or fail("option") }
  if ($kind eq "connect") {
    unless (connect($socket, pack_sockaddr_in($port, inet_aton($address)))) {
      print STDERR "connect $address $port: $!\n";
      next;
    }
    pass(fileno($socket), qq({"cmd":"NODE_HANDLE","type":"net.Socket","msg":{"kind":"connect"}}));
    next;
  }
  # Another one's port must not keep the rest from being opened; the runner counts them.
  # One that a rule names becomes the namespace's own, so that connections to it arrive here.
  add_address($address) if $address !~ /^(?:0|127|198\.1[89])\./;
  unless (bind($socket, pack_sockaddr_in($port, inet_aton($address)))) {
    print STDERR "bind $address $port: $!\n";
    next;
  }
  my $type = $is_tcp ? '"net.Native"' : '"dgram.Socket","dgramType":"udp4"';
  my $message = qq({"cmd":"NODE_HANDLE","type":$type,"msg":{"kind":"$kind"}});
  pass(fileno($socket), $message);
}
`;

/** setns and sendmsg by Node's name of the architecture. */
export const bridgeSystemCalls: ReadonlyMap<string, readonly [number, number]> = new Map([
  ['x64', [308, 46]],
  ['arm64', [268, 211]],
]);
