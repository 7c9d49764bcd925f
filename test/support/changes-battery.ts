/** File operations by real programs, for one tree that all of them know. */
export interface Operation {
  readonly name: string;
  /** For `sh`, in the tree. Bytes as latin1. */
  readonly script: string;
  /** What the operation is expected to exit with where it is an overlay. Default 0. */
  readonly overlayCode?: number;
  /** Marks by path that only the overlay has to tell. */
  readonly overlayMarks?: Readonly<Record<string, readonly string[]>>;
  /** Its owner could not read the tree afterwards, if it were no overlay. */
  readonly keepsOwnerOut?: boolean;
  /** Paths that are told as `metadata-only`, and nothing else. */
  readonly metadataOnly?: readonly string[];
}

const isArm = process.arch === 'arm64';
const number = (x64: number, arm64: number): number => (isArm ? arm64 : x64);
const perl = (code: string): string => `perl -e '${code.replaceAll("'", String.raw`'\''`)}'`;

/** The tree before each operation, made by `sh` in an empty directory. */
export const treeScript = String.raw`
umask 022
printf 'one\n' > a.txt; printf 'two\n' > b.txt; printf 'run\n' > run.sh; chmod 755 run.sh
mkdir -p d/sub/deeper e/full empty git/hooks
printf x > d/x; printf y > d/y; printf z > d/sub/z; printf deep > d/sub/deeper/w
printf f > e/full/f; printf g > e/g; printf h > git/hooks/h
ln -s a.txt link; ln -s d linkd; ln -s /etc/passwd outside
printf shared > h1; ln h1 h2; ln h1 d/h3
mkfifo pipe
dd if=/dev/urandom of=big bs=1024 count=600 2>/dev/null
: > zero
printf ro > readonly; chmod 444 readonly
printf odd > 'new
line'; printf latin > "$(printf 'caf\351')"; printf dash > ./-dash; printf s > ' space '
mkdir "$(printf 'dir\377\n\001')"; printf in > "$(printf 'dir\377\n\001')/in"
touch -d '2001-02-03 04:05:06.123456789' a.txt b.txt d/x
`;

const exchange = (a: string, b: string): string =>
  perl(
    `my ($p,$q)=("${a}","${b}");
syscall(${number(316, 276)}, -100, $p, -100, $q, 2) == 0 or die $!`,
  );
const mapped = (isSynced: boolean): string =>
  perl(`open my $f, "+<", "big" or die $!; pipe(my $r, my $w); syswrite $w, "MAPPED";
my $at = syscall(${number(9, 222)}, 0, 8192, 3, 1, fileno $f, 0); $at > 0 or die $!;
syscall(${number(0, 63)}, fileno $r, $at + 100, 6) == 6 or die $!;
${isSynced ? `syscall(${number(26, 227)}, $at, 8192, 4) == 0 or die $!;` : ''}`);

const contentOperations: readonly Operation[] = [
  { name: 'write a new file', script: 'printf new > n' },
  { name: 'truncate and write', script: 'printf other > a.txt' },
  { name: 'append', script: 'printf more >> a.txt' },
  {
    name: 'write one byte in the middle of a large file',
    script: `printf Q | dd of=big bs=1 seek=300000 conv=notrunc`,
  },
  { name: 'truncate to nothing', script: ': > b.txt' },
  { name: 'truncate to less', script: 'truncate -s 100 big' },
  { name: 'truncate to more', script: 'truncate -s 1M big' },
  { name: 'a sparse file', script: 'truncate -s 3M sparse; printf end >> sparse' },
  { name: 'punch a hole', script: 'fallocate -p -o 4096 -l 8192 big' },
  { name: 'write through a mapping with msync', script: mapped(true) },
  { name: 'write through a mapping without msync', script: mapped(false) },
  { name: 'save by rename', script: 'printf saved > .a.tmp; mv .a.tmp a.txt' },
  { name: 'rename over another', script: 'mv -f a.txt b.txt' },
  { name: 'rename to a new name', script: 'mv a.txt moved.txt' },
  { name: 'rename back and forth', script: 'mv a.txt t; mv t a.txt', metadataOnly: [] },
  { name: 'exchange two files', script: exchange('a.txt', 'b.txt') },
  { name: 'exchange a file and a link', script: exchange('a.txt', 'link') },
  {
    name: 'a file without a name that gets one',
    script: perl(`sysopen my $f, ".", 020200001, 0644 or die $!; syswrite $f, "unnamed";
my ($p, $q) = ("/proc/self/fd/" . fileno $f, "named");
syscall(${number(265, 37)}, -100, $p, -100, $q, 0x400) == 0 or die $!`),
  },
  { name: 'delete', script: 'rm a.txt' },
  {
    name: 'delete and write the same',
    script: 'cp -p a.txt t; rm a.txt; cp -p t a.txt; rm t',
    metadataOnly: [],
  },
  { name: 'delete and write another', script: 'rm a.txt; printf again > a.txt' },
  {
    name: 'edit with its time kept',
    script: `touch -r a.txt ref; printf ONE > a.txt; touch -r ref a.txt; rm ref`,
  },
  {
    name: 'edit of equal size with its time kept',
    script: `touch -r a.txt ref; printf 'ONE\\n' > a.txt; touch -r ref a.txt; rm ref`,
  },
  { name: 'write what was there', script: `printf 'one\\n' > a.txt`, metadataOnly: ['a.txt'] },
  {
    name: 'change and restore',
    script: `printf x > a.txt; printf 'one\\n' > a.txt`,
    metadataOnly: ['a.txt'],
  },
  { name: 'touch', script: 'touch a.txt big', metadataOnly: ['a.txt', 'big'] },
  {
    name: 'open for writing, write nothing',
    script: perl('open my $f, "+<", "a.txt" or die $!'),
    metadataOnly: [],
  },
  {
    name: 'create and delete at once',
    script: 'printf t > t; mkdir td; printf u > td/u; rm -r t td',
  },
  { name: 'an empty file', script: ': > nothing' },
];

const modeOperations: readonly Operation[] = [
  { name: 'chmod of a file', script: 'chmod 600 a.txt' },
  { name: 'chmod there and back', script: 'chmod 600 a.txt; chmod 644 a.txt', metadataOnly: [] },
  { name: 'chmod and write', script: 'chmod 755 a.txt; printf w > a.txt' },
  { name: 'chmod of a directory', script: 'chmod 700 d' },
  { name: 'chmod of the tree itself', script: 'chmod 711 .' },
  {
    name: 'set-uid, set-gid, sticky',
    script: 'chmod 4755 run.sh; chmod 2755 a.txt; chmod 1777 empty',
  },
  {
    name: 'no modes at all',
    script: 'printf s > n; chmod 000 n; chmod 000 b.txt; chmod 000 d/sub',
    keepsOwnerOut: true,
  },
  {
    name: 'a directory that nobody may write',
    script: 'mkdir r; printf i > r/i; chmod 555 r e; chmod 500 git',
  },
  {
    name: 'write what is read-only',
    script: 'chmod u+w readonly; printf w > readonly; chmod 444 readonly',
  },
  {
    name: 'an extended attribute',
    script: perl(
      `my ($p,$n,$v)=("a.txt","user.note","hello");
syscall(${number(188, 5)}, $p, $n, $v, 5, 0) == 0 or die $!`,
    ),
    metadataOnly: [],
  },
];

const linkOperations: readonly Operation[] = [
  { name: 'a symbolic link', script: 'ln -s nowhere s' },
  { name: 'a link led elsewhere', script: 'ln -sfn b.txt link' },
  { name: 'a link swapped by rename', script: 'ln -s e t; mv -T t linkd' },
  { name: 'a link becomes a file', script: 'rm link; printf file > link' },
  { name: 'a file becomes a link', script: 'rm a.txt; ln -s b.txt a.txt' },
  { name: 'a directory becomes a link', script: 'rm -r e; ln -s d e' },
  {
    name: 'a link to a directory becomes a directory',
    script: 'rm linkd; mkdir linkd; printf i > linkd/i',
  },
  { name: 'write through a link', script: 'printf through > link; printf deep > linkd/x' },
  { name: 'a hard link to a new file', script: 'printf l > n1; ln n1 n2' },
  { name: 'a hard link to an old file', script: 'ln a.txt n2' },
  {
    name: 'write to a hard-linked file',
    script: 'printf split > h1',
    overlayMarks: { h1: ['hardlink-split'] },
  },
  {
    name: 'replace a hard-linked file',
    script: 'printf whole > t; mv t h1',
    overlayMarks: { h1: ['hardlink-split'] },
  },
  { name: 'delete a hard-linked file', script: 'rm h1' },
];

const directoryOperations: readonly Operation[] = [
  { name: 'an empty directory', script: 'mkdir n' },
  { name: 'directories in directories', script: 'mkdir -p n/m/o; printf p > n/m/o/p' },
  { name: 'remove an empty directory', script: 'rmdir empty' },
  { name: 'remove a full directory', script: 'rm -r d' },
  { name: 'a directory made anew', script: 'rm -r d; mkdir d' },
  {
    name: 'a directory made anew with some of the old',
    script: 'cp -a d t; rm -r d; mkdir d; cp -p t/x d/x; printf other > d/y; rm -r t',
  },
  {
    name: 'directories made anew in one made anew',
    script: `rm -r d; mkdir -p d/sub; printf new > d/sub/new
rm -r d/sub; mkdir d/sub; printf z > d/sub/z`,
  },
  { name: 'a nested directory made anew', script: 'rm -r d/sub; mkdir d/sub; printf q > d/sub/q' },
  { name: 'a directory becomes a file', script: 'rm -r d; printf file > d' },
  { name: 'a file becomes a directory', script: 'rm a.txt; mkdir a.txt; printf in > a.txt/in' },
  {
    name: 'a file becomes a directory and a file again',
    script: `rm a.txt; mkdir a.txt; rmdir a.txt; printf 'one\\n' > a.txt`,
    metadataOnly: ['a.txt'],
  },
  {
    name: 'rename(2) of a directory',
    script: perl('rename "d", "moved" or exit 1'),
    overlayCode: 1,
  },
  { name: 'mv of a directory', script: 'mv d moved' },
  { name: 'mv of a new directory', script: 'mkdir n; printf i > n/i; mv n m; mv m empty/m' },
  { name: 'mv of a directory over an empty one', script: 'mkdir n; printf i > n/i; mv -T n empty' },
  { name: 'a directory nested deeper than a path may be', script: deep('n') },
  { name: 'a deep tree made and removed', script: `${deep('n')}; rm -rf n` },
];

const oddOperations: readonly Operation[] = [
  {
    name: 'a name with a line break',
    script: `printf w > 'new\nline'; printf v > 'two\n\nbreaks'`,
  },
  {
    name: 'a name that is no text',
    script: `printf w > "$(printf 'caf\\351')"; printf v > "$(printf '\\200\\377')"`,
  },
  {
    name: 'a name that begins with a dash',
    script: 'printf w > ./-dash; printf v > ./--help; rm ./-dash',
  },
  {
    name: 'a directory whose name is no text',
    script: `rm -r "$(printf 'dir\\377\\n\\001')"
mkdir "$(printf 'd\\377')"; printf i > "$(printf 'd\\377')/i"`,
  },
  { name: 'a name of 255 bytes', script: `printf w > "$(printf '%0255d' 7)"` },
  {
    name: 'names of blanks, quotes and backslashes',
    script: String.raw`printf 1 > '  '; printf 2 > '"q"'
printf 3 > 'b\s'; printf 4 > '*?['; rm ' space '`,
  },
  {
    name: 'names that look like those of overlays',
    script: 'printf 1 > .wh.a.txt; printf 2 > .wh..wh..opq; mkdir work; printf 3 > "#1"',
  },
  { name: 'a FIFO', script: 'mkfifo n; chmod 600 n' },
  { name: 'a FIFO removed', script: 'rm pipe' },
  { name: 'a FIFO in the place of a file', script: 'rm a.txt; mkfifo a.txt' },
  { name: 'a file in the place of a FIFO', script: 'rm pipe; printf p > pipe' },
  {
    name: 'a socket',
    script: perl(
      `use Socket; socket my $s, AF_UNIX, SOCK_STREAM, 0 or die $!;
bind $s, sockaddr_un("sock") or die $!`,
    ),
  },
  {
    name: 'many at once',
    script:
      'mkdir many; i=0; while [ $i -lt 300 ]; do printf $i > many/$i; i=$((i+1)); done; rm -r e',
  },
];

function deep(name: string): string {
  const part = 'n'.repeat(200);
  return `mkdir ${name}; (cd ${name}; i=0
while [ $i -lt 40 ]; do mkdir ${part}; cd -P ./${part}; i=$((i+1)); done; printf bottom > bottom)`;
}

export const battery: readonly Operation[] = [
  ...contentOperations,
  ...modeOperations,
  ...linkOperations,
  ...directoryOperations,
  ...oddOperations,
];
