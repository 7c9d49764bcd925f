/**
 * The system call filter of every sandboxed command, as classic BPF (`struct sock_filter[]`):
 *
 *   u16 code | u8 jt | u8 jf | u32 k        8 bytes each, little endian
 *
 * It reads `struct seccomp_data`: nr at 0, arch at 4, argument n at 16 + 8n (low word first).
 * Pure: the same options give the same bytes.
 */

export type Arch = 'x64' | 'arm64';

/** The descriptor number that {@link planBox}'s arguments name for this program. */
export const seccompFd = 6;

const load = 0x20;
const jumpEqual = 0x15;
const jumpAtLeast = 0x35;
const jumpAnyBit = 0x45;
const answer = 0x06;

const offsetNr = 0;
const offsetArch = 4;
const offsetArg = (index: number): number => 16 + 8 * index;

const errno = { EPERM: 1, ENOSYS: 38, EAFNOSUPPORT: 97 } as const;
const returnErrno = (code: number): number => 0x0005_0000 | code;

/** Where a jump may end. The answers stand at the end of the program, in this order. */
const answers = {
  allow: 0x7fff_0000,
  notPermitted: returnErrno(errno.EPERM),
  notImplemented: returnErrno(errno.ENOSYS),
  familyNotSupported: returnErrno(errno.EAFNOSUPPORT),
  kill: 0x8000_0000,
} as const satisfies Record<string, number>;
type Rule =
  | 'clone'
  | 'socket'
  | 'pair'
  | 'ioctl'
  | 'persona'
  | 'open'
  | 'openat'
  | 'mode1'
  | 'mode2';
type Label = keyof typeof answers | 'next' | Rule;

interface Instruction {
  readonly code: number;
  readonly k: number;
  readonly yes: Label;
  readonly no: Label;
  /** The name by which jumps reach this instruction. */
  readonly at: Label | null;
}

interface Calls {
  readonly audit: number;
  readonly clone: number;
  readonly clone3: number;
  readonly io_setup: number;
  readonly socket: number;
  readonly socketpair: number;
  readonly ioctl: number;
  readonly personality: number;
  /** Calls that take a file's mode, each by the argument that holds it. */
  readonly modes: Readonly<Record<string, readonly [nr: number, rule: Rule]>>;
  /** Calls that always answer EPERM. */
  readonly refused: Readonly<Record<string, number>>;
}

/** Numbers that are the same on every architecture (Linux 5.1 and later). */
const refusedEverywhere = {
  io_uring_setup: 425,
  io_uring_enter: 426,
  io_uring_register: 427,
  open_tree: 428,
  move_mount: 429,
  fsopen: 430,
  fsconfig: 431,
  fsmount: 432,
  fspick: 433,
  pidfd_getfd: 438,
  process_madvise: 440,
  mount_setattr: 442,
  quotactl_fd: 443,
  memfd_secret: 447,
  open_tree_attr: 467,
} as const;

/** A mode in a structure cannot be read: callers of `openat2` fall back to `openat`. */
const openat2 = 437;
const fchmodat2 = 452;
/** Linux 6.18 ends before it. What later kernels add is answered as if it were missing. */
const firstUnknown = 470;

const calls = {
  x64: {
    audit: 0xc000_003e,
    clone: 56,
    clone3: 435,
    io_setup: 206,
    socket: 41,
    socketpair: 53,
    ioctl: 16,
    personality: 135,
    modes: {
      open: [2, 'open'],
      creat: [85, 'mode1'],
      chmod: [90, 'mode1'],
      fchmod: [91, 'mode1'],
      mknod: [133, 'mode1'],
      openat: [257, 'openat'],
      mknodat: [259, 'mode2'],
      fchmodat: [268, 'mode2'],
      fchmodat2: [fchmodat2, 'mode2'],
    },
    refused: {
      ptrace: 101,
      syslog: 103,
      uselib: 134,
      vhangup: 153,
      modify_ldt: 154,
      pivot_root: 155,
      sysctl: 156,
      chroot: 161,
      acct: 163,
      settimeofday: 164,
      mount: 165,
      umount2: 166,
      swapon: 167,
      swapoff: 168,
      reboot: 169,
      iopl: 172,
      ioperm: 173,
      create_module: 174,
      init_module: 175,
      delete_module: 176,
      quotactl: 179,
      nfsservctl: 180,
      lookup_dcookie: 212,
      clock_settime: 227,
      kexec_load: 246,
      add_key: 248,
      request_key: 249,
      keyctl: 250,
      unshare: 272,
      migrate_pages: 256,
      move_pages: 279,
      perf_event_open: 298,
      fanotify_init: 300,
      open_by_handle_at: 304,
      setns: 308,
      process_vm_readv: 310,
      process_vm_writev: 311,
      kcmp: 312,
      finit_module: 313,
      seccomp: 317,
      kexec_file_load: 320,
      bpf: 321,
      userfaultfd: 323,
      ...refusedEverywhere,
    },
  },
  arm64: {
    audit: 0xc000_00b7,
    clone: 220,
    clone3: 435,
    io_setup: 0,
    socket: 198,
    socketpair: 199,
    ioctl: 29,
    personality: 92,
    modes: {
      mknodat: [33, 'mode2'],
      fchmod: [52, 'mode1'],
      fchmodat: [53, 'mode2'],
      openat: [56, 'openat'],
      fchmodat2: [fchmodat2, 'mode2'],
    },
    refused: {
      lookup_dcookie: 18,
      umount2: 39,
      mount: 40,
      pivot_root: 41,
      nfsservctl: 42,
      chroot: 51,
      vhangup: 58,
      quotactl: 60,
      acct: 89,
      unshare: 97,
      kexec_load: 104,
      init_module: 105,
      delete_module: 106,
      clock_settime: 112,
      syslog: 116,
      ptrace: 117,
      reboot: 142,
      settimeofday: 170,
      add_key: 217,
      request_key: 218,
      keyctl: 219,
      swapon: 224,
      swapoff: 225,
      migrate_pages: 238,
      move_pages: 239,
      perf_event_open: 241,
      fanotify_init: 262,
      open_by_handle_at: 265,
      setns: 268,
      process_vm_readv: 270,
      process_vm_writev: 271,
      kcmp: 272,
      finit_module: 273,
      seccomp: 277,
      bpf: 280,
      userfaultfd: 282,
      kexec_file_load: 294,
      ...refusedEverywhere,
    },
  },
} as const satisfies Record<Arch, Calls>;

/** The calls of `arch` that answer EPERM whatever their arguments, by name. */
export const refusedCalls = (arch: Arch): Readonly<Record<string, number>> => calls[arch].refused;

/** Bit 30 marks an x32 call: same kernel, other numbers, past every rule below. */
const x32Bit = 0x4000_0000;
/** CLONE_NEW{NS,CGROUP,UTS,IPC,USER,PID,NET}. CLONE_NEWTIME exists for clone3 and unshare only. */
const namespaceFlags = 0x7e02_0000;
const family = { unix: 1, inet: 2, inet6: 10, netlink: 16 } as const;
const netlinkRoute = 0;
/** Set in SOCK_DGRAM and SOCK_RAW, not in SOCK_STREAM and SOCK_SEQPACKET. */
const datagramBit = 2;
/** Pushing input into a terminal, and the console's ways to do the same. */
const terminalInjection = { TIOCSTI: 0x5412, TIOCLINUX: 0x541c } as const;
/** Line disciplines are drivers, which the kernel would load. */
const setLineDiscipline = 0x5423;
/** `personality(0xffffffff)` only asks. */
const personalityQuery = 0xffff_ffff;

/** Set-user-ID: files in the workspace are the operator's outside, so others could become them. */
const setUserId = 0o4000;
/** O_CREAT and __O_TMPFILE: without them `open` has no mode, and its argument may hold anything. */
const makesFile = 0o20_000_100;

/**
 * The filter for one command.
 *
 * Kills calls of another architecture; answers ENOSYS to x32, to calls that are newer than this
 * filter, to `clone3` and `openat2` (callers fall back to calls whose arguments can be read) and to
 * `io_setup` (one command could take all that the host has, and callers fall back); EPERM to making
 * set-user-ID files, and to what leaves the sandbox, looks into other processes or widens the
 * kernel's surface; EAFNOSUPPORT to socket families other than IP and route netlink.
 * `setsockopt` and `getsockname` stay: Chromium dies without them.
 *
 * @param options.unixSockets whether `socket(AF_UNIX)` is allowed, and `socketpair` for datagrams;
 *   other pairs always are.
 */
export function seccompProgram(arch: Arch, options: { unixSockets: boolean }): Uint8Array {
  return assemble([
    ...entry(arch),
    ...Object.values(calls[arch].refused).map((nr) => when(nr, 'notPermitted')),
    when(calls[arch].clone3, 'notImplemented'),
    when(openat2, 'notImplemented'),
    when(calls[arch].io_setup, 'notImplemented'),
    { ...when(firstUnknown, 'notImplemented'), code: jumpAtLeast },
    ...Object.values(calls[arch].modes).map(([nr, rule]) => when(nr, rule)),
    when(calls[arch].clone, 'clone'),
    when(calls[arch].socket, 'socket'),
    when(calls[arch].socketpair, 'pair'),
    when(calls[arch].ioctl, 'ioctl'),
    when(calls[arch].personality, 'persona', 'allow'),
    ...argumentRules(options.unixSockets),
  ]);
}

function entry(arch: Arch): Instruction[] {
  const x32 = { ...when(x32Bit, 'notImplemented'), code: jumpAtLeast };
  return [
    word(offsetArch),
    when(calls[arch].audit, 'next', 'kill'),
    word(offsetNr),
    ...(arch === 'x64' ? [x32] : []),
  ];
}

/** One of a datagram pair can still send to any name; a stream's is bound to its peer. */
const connectedPairOnly = [
  word(offsetArg(1)),
  { ...when(datagramBit, 'familyNotSupported', 'allow'), code: jumpAnyBit },
];

/** Comparing low words only: the kernel ignores the rest of these `int` arguments. */
function argumentRules(unixSockets: boolean): Instruction[] {
  return [
    word(offsetArg(0), 'clone'),
    { ...when(namespaceFlags, 'notPermitted', 'allow'), code: jumpAnyBit },
    word(offsetArg(1), 'open'),
    { ...when(makesFile, 'mode2', 'allow'), code: jumpAnyBit },
    word(offsetArg(2), 'openat'),
    { ...when(makesFile, 'next', 'allow'), code: jumpAnyBit },
    word(offsetArg(3)),
    { ...when(setUserId, 'notPermitted', 'allow'), code: jumpAnyBit },
    word(offsetArg(1), 'mode1'),
    { ...when(setUserId, 'notPermitted', 'allow'), code: jumpAnyBit },
    word(offsetArg(2), 'mode2'),
    { ...when(setUserId, 'notPermitted', 'allow'), code: jumpAnyBit },
    word(offsetArg(0), 'pair'),
    when(family.unix, unixSockets ? 'allow' : 'next', 'familyNotSupported'),
    ...(unixSockets ? [] : connectedPairOnly),
    word(offsetArg(1), 'ioctl'),
    when(terminalInjection.TIOCSTI, 'notPermitted'),
    when(terminalInjection.TIOCLINUX, 'notPermitted'),
    when(setLineDiscipline, 'notPermitted', 'allow'),
    word(offsetArg(0), 'persona'),
    when(0, 'allow'),
    when(personalityQuery, 'allow', 'notPermitted'),
    word(offsetArg(0), 'socket'),
    when(family.inet, 'allow'),
    when(family.inet6, 'allow'),
    when(family.unix, unixSockets ? 'allow' : 'familyNotSupported'),
    when(family.netlink, 'next', 'familyNotSupported'),
    word(offsetArg(2)),
    when(netlinkRoute, 'allow', 'familyNotSupported'),
  ];
}

function word(offset: number, at: Label | null = null): Instruction {
  return { code: load, k: offset, yes: 'next', no: 'next', at };
}

function when(value: number, yes: Label, no: Label = 'next'): Instruction {
  return { code: jumpEqual, k: value, yes, no, at: null };
}

/** Jumps are forward and at most 255 instructions long, as BPF has them. */
function assemble(body: readonly Instruction[]): Uint8Array {
  const places = new Map<Label, number>();
  body.forEach(({ at }, index) => at !== null && places.set(at, index));
  const ends = Object.entries(answers);
  Object.keys(answers).forEach((name, index) => {
    if (isAnswer(name)) places.set(name, body.length + index);
  });
  const bytes = new Uint8Array((body.length + ends.length) * 8);
  const view = new DataView(bytes.buffer);
  body.forEach((one, index) => {
    const distance = (label: Label): number =>
      label === 'next' ? 0 : forward(index, places.get(label));
    put(view, index, [one.code, distance(one.yes), distance(one.no), one.k]);
  });
  ends.forEach(([, k], index) => put(view, body.length + index, [answer, 0, 0, k]));
  return bytes;
}

function isAnswer(name: string): name is keyof typeof answers {
  return name in answers;
}

function forward(from: number, to: number | undefined): number {
  const distance = to === undefined ? -1 : to - from - 1;
  if (distance < 0 || distance > 255) throw new RangeError(`seccomp jump of ${distance}`);
  return distance;
}

type Encoded = readonly [code: number, jt: number, jf: number, k: number];
function put(view: DataView, index: number, [code, jt, jf, k]: Encoded): void {
  view.setUint16(index * 8, code, true);
  view.setUint8(index * 8 + 2, jt);
  view.setUint8(index * 8 + 3, jf);
  view.setUint32(index * 8 + 4, k, true);
}
