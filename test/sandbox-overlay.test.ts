// What a command sees and writes where the workspace has an overlay, tried with real mounts.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, renameSync, statSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import type { Overlay } from '../src/command.ts';
import { isTrlError } from '../src/errors.ts';
import { openNamespace } from '../src/runner/namespace.ts';
import { hostMounts, isRoot, onHost, runIn, temporary, whyNoBox } from './support/box.ts';
import { layered, openLayered, type LayeredOptions } from './support/overlay.ts';

const sandboxed = { skip: whyNoBox };
const files = { 'a.txt': 'old\n', 'd/f': 'f\n', 'd/e/g': 'g\n', 'x.sh': 'echo hi\n' };

/** Everything that is in a tree, with times: nothing may have touched it. */
const listing = (tree: string): string =>
  onHost(`find . -printf '%p %y %m %U %G %s %T@ %C@ %l\\n' | sort; cat a.txt d/f d/e/g`, tree);

/** Uses of files whose answers an overlay may give differently; each line says what it saw. */
const battery = String.raw`
umask 022
say() { echo "$1: $2"; }
echo more >> a.txt;                     say append "$(cat a.txt | tr '\n' ' ')"
echo new > n;                           say create "$(stat -c '%a %u %h' n)"
chmod 640 n;                            say chmod "$(stat -c %a n)"
chmod 700 x.sh && ./x.sh > /dev/null;   say 'chmod below' "$(stat -c %a x.sh)"
mv n m;                                 say rename "$(ls n 2>&1; cat m)"
mv a.txt d/b.txt;                       say 'rename below' "$(ls a.txt 2>&1; tail -1 d/b.txt)"
ln m h && echo linked >> h;             say 'hard link' "$(stat -c %h m) $(tail -1 m)"
ln -s d/f l;                            say symlink "$(readlink l) $(cat l)"
mkfifo p && (echo through > p & cat p); say fifo "$(stat -c %F p)"
perl -e 'use Socket; socket(S, AF_UNIX, SOCK_STREAM, 0); bind(S, pack_sockaddr_un("s")) or die $!'
                                        say socket "$(stat -c %F s)"
rm -r d/e && mkdir d/e && echo q > d/e/q; say 'directory again' "$(ls d/e)"
: > d/f;                                say truncate "$(stat -c %s d/f)"
perl -e 'open F, "+<", "m"; seek F, 1000000, 0; print F "x"'; say sparse "$(stat -c %s m)"
touch -d @1000000000 x.sh;              say touch "$(stat -c %Y x.sh)"
perl -e '$n = "user.k"; $v = "v1"; $f = "m";
         syscall('$SET', $f, $n, $v, 2, 0) == 0 or print "no: $!"
  ' > x.out;                            say 'extended attribute' "$(cat x.out)"
rm x.out; mknod dev c 1 3 2> /dev/null; say device "$(ls dev 2>&1)"
chmod 4755 m 2> /dev/null;              say set-uid "$(stat -c %a m)"
chown 0 m 2> /dev/null || say chown refused
`;

test(
  'every kind of file can be made and changed, and the workspace is not touched',
  sandboxed,
  async () => {
    await using ws = await openLayered({ files });
    const before = listing(ws.tree);
    const set = process.arch === 'arm64' ? 5 : 188;
    const said = await ws.run(`SET=${set}\n${battery}`);
    const uid = ws.box.holder.insideUid;
    assert.deepEqual(said.trim().split('\n'), [
      'append: old more ',
      `create: 644 ${uid} 1`,
      'chmod: 640',
      'chmod below: 700',
      "rename: ls: cannot access 'n': No such file or directory",
      'new',
      "rename below: ls: cannot access 'a.txt': No such file or directory",
      'more',
      'hard link: 2 linked',
      'symlink: d/f f',
      'through',
      'fifo: fifo',
      'socket: socket',
      'directory again: q',
      'truncate: 0',
      'sparse: 1000001',
      'touch: 1000000000',
      'extended attribute: ',
      "device: ls: cannot access 'dev': No such file or directory",
      'set-uid: 640',
      'chown: refused',
    ]);
    assert.equal(listing(ws.tree), before);
    const { hostUid, hostGid } = ws.box.holder;
    const owners = onHost(`find . ! -type c -printf '%U:%G\\n' | sort -u`, ws.overlay.upper);
    assert.equal(owners, `${hostUid}:${hostGid}\n`);
    assert.equal(readFileSync(path.join(ws.overlay.upper, 'd/b.txt'), 'utf8'), 'old\nmore\n');
  },
);

test('the workspace itself has its own mode and owner', sandboxed, async () => {
  await using ws = await openLayered({ files });
  onHost('chmod 2751 .', ws.tree);
  using other = await layered();
  onHost('chmod 2751 . && touch -d @1000000000 .', other.tree);
  const holder = await openNamespace(other.box.holder);
  await holder.bounded;
  try {
    const seen = await runIn(holder, other.box, 'stat -c "%a %u %Y" .', { cwd: other.tree });
    assert.equal(seen.stdout, `2751 ${other.box.holder.insideUid} 1000000000\n`);
  } finally {
    holder.close();
  }
});

const names = [
  'a b',
  'a,b',
  'a:b',
  'a\\b',
  'a\\:b,c',
  'ä€😀',
  'a\nb',
  'a\'"$(x)',
  '-o',
  'a=b,upperdir=x',
];
test('any name of workspace and layers will do', sandboxed, async () => {
  for (const name of names) {
    await using ws = await openLayered({ name, files });
    const said = await ws.run('cat a.txt; echo new > a.txt; cat a.txt; echo n > n');
    assert.equal(said, 'old\nnew\n', name);
    const left = [ws.tree, ws.overlay.upper].map((dir) => readdirSync(dir).toSorted());
    assert.deepEqual(left, [Object.keys({ 'a.txt': 0, d: 0, 'x.sh': 0 }), ['a.txt', 'n']], name);
  }
});

test('nothing inside leads to the layers or tells where they are', sandboxed, async () => {
  const secret = 'here-are-the-layers';
  await using ws = await openLayered({ name: secret, files, mask: 'mknod a.txt c 0 0' });
  const said = await ws.run(`
    echo up > marker-of-upper
    cat /proc/self/mountinfo /proc/self/mounts /proc/1/mountinfo
    for p in /proc/[0-9]*; do
      ls -l $p/fd $p/cwd $p/root 2>/dev/null; tr '\\0' ' ' < $p/cmdline
    done
    ls -la ${ws.box.holder.stage} ${path.dirname(ws.overlay.upper)} 2>&1
    find / -xdev -name upper -o -xdev -name work -o -xdev -name mask 2>/dev/null
    find / \\( -path /proc -o -path /usr -o -path /sys \\) -prune -o -name marker-of-upper \\
      -print 2>/dev/null
    ls -la /proc/1/root${ws.box.holder.stage}/ 2>&1
  `);
  assert.doesNotMatch(said, new RegExp(`${secret}\\.layers/`));
  const found = said.split('\n').filter((line) => /^\/.*(?:upper|work|mask)$/.test(line));
  assert.deepEqual(found, [`${ws.tree}/marker-of-upper`]);
  const overlays = said.split('\n').filter((line) => line.includes(' - overlay '));
  const stage = ws.box.holder.stage;
  assert.ok(overlays.length > 0);
  for (const line of overlays) {
    const paths = [...line.matchAll(/(?:dir=|:)(\/[^,:]*)/g)].map((match) => match[1]);
    const neutral = ['mask', 'lower', 'upper', 'work'].map((one) => `${stage}/${one}`);
    assert.deepEqual(paths, neutral);
  }
});

const masks: LayeredOptions = {
  files: { ...files, '.env': 'SECRET=1\n', 'd/key': 'K\n', 'p/q/r': 'r\n' },
  mask: String.raw`
    mknod .env c 0 0
    mkdir d && chmod 2750 "$1/d" && chmod 2750 d && mknod d/key c 0 0
    mknod p c 0 0`,
};

test(
  'what the mask hides does not exist, and its directories look like the workspace’s',
  sandboxed,
  async () => {
    await using ws = await openLayered(masks);
    const said = await ws.run(`
    ls -A; ls -A d; stat -c '%a %u' d; cat .env d/key p/q/r; ls p; find . -name key; echo *
    stat -c %i d/key; ln d/key k; mv d/key k; cat < .env
    echo over > .env; cat .env; mkdir p; ls -A p`);
    assert.doesNotMatch(said, /SECRET|^K$|^r$/m);
    assert.equal(said.match(/No such file/g)?.length, 8, said);
    assert.match(said, /^a\.txt\nd\nx\.sh\ne\nf\n2750 \d+\n/);
    assert.match(said, new RegExp(`^2750 ${ws.box.holder.insideUid}$`, 'm'));
    assert.match(said, /^over$/m);
    assert.deepEqual(readdirSync(ws.overlay.upper).toSorted(), ['.env', 'p']);
    assert.equal(readFileSync(path.join(ws.tree, '.env'), 'utf8'), 'SECRET=1\n');
  },
);

test('trees that are granted in the workspace show what commands wrote', sandboxed, async () => {
  using other = temporary();
  onHost('echo beside > b', other.path);
  await using ws = await openLayered({ files, read: [other.path] });
  assert.equal(await ws.run(`cat ${other.path}/b; echo x > ${other.path}/b`), await said());
  async function said(): Promise<string> {
    return `beside\nbash: line 1: ${other.path}/b: Read-only file system\nexit 1\n`;
  }
});

test(
  'a root without idmapped mounts has an overlay, too',
  { skip: whyNoBox || (isRoot ? false : 'needs root') },
  async () => {
    await using ws = await openLayered({ files, host: { idmap: false } });
    assert.equal(ws.box.holder.level, 'root-uid');
    const before = listing(ws.tree);
    assert.equal(await ws.run('echo new > a.txt; rm -r d; cat a.txt; ls'), 'new\na.txt\nx.sh\n');
    assert.equal(listing(ws.tree), before);
    onHost('echo s > t && mv t x.sh && echo n > n', ws.tree);
    await ws.refresh();
    assert.equal(await ws.run('cat x.sh n'), 's\nn\n');
  },
);

test('what cannot be mounted is told apart from what can', sandboxed, async () => {
  using ws = await layered({ files });
  using beside = temporary();
  const { tree, upper } = ws.overlay;
  const wrong: [Partial<Overlay>, 'overlay' | 'holder'][] = [
    [{ upper: path.join(tree, 'd/upper'), work: path.join(tree, 'd/work') }, 'overlay'],
    [{ work: path.join(beside.path, 'work') }, 'overlay'],
    [{ upper: '/proc/self/upper', work: '/proc/self/work' }, 'overlay'],
    [{ mask: '/nowhere/at/all' }, 'overlay'],
    [{ tree: path.join(tree, 'nowhere') }, 'overlay'],
    [{ place: '1:2' }, 'holder'],
  ];
  const mounts = hostMounts(path.dirname(ws.tree));
  for (const [change, reason] of wrong) {
    const { holder } = ws.box;
    const opening = openNamespace({ ...holder, overlay: { ...ws.overlay, ...change } });
    await assert.rejects(
      opening,
      (error: unknown) =>
        isTrlError(error, 'SANDBOX_UNAVAILABLE') && error.data?.['reason'] === reason,
      JSON.stringify(change),
    );
  }
  const noPerl = { ...ws.box.holder, tools: { ...ws.box.holder.tools, perl: null } };
  await assert.rejects(openNamespace(noPerl), { code: 'SANDBOX_UNAVAILABLE' });
  assert.equal(hostMounts(path.dirname(ws.tree)), mounts);
  assert.ok(statSync(upper).isDirectory());
});

test(
  'file systems mounted in the workspace are shown as they are, unless they are hidden',
  { skip: whyNoBox || (isRoot ? false : 'needs root') },
  () => {
    const program = path.join(import.meta.dirname, 'support/overlay-mounts.ts');
    const args = ['-m', '--propagation', 'private', process.execPath, program];
    const done = spawnSync('unshare', args, { encoding: 'utf8', timeout: 240_000 });
    assert.equal(done.status, 0, done.stderr);
    assert.deepEqual(JSON.parse(done.stdout), {
      first: 'in\ndeep\n.:\na\nin\nvol\n\nin/deep:\nin\n\nvol:\nin\nw\n',
      second: 'in\n.:\na\netc\nin\nvol\n\nvol:\nin\nw\n',
      outside: ['in', 'w'],
    });
  },
);

test('a link in the workspace’s place is not followed', sandboxed, async () => {
  using ws = await layered({ files });
  using beside = temporary();
  onHost('echo host > f', beside.path);
  renameSync(ws.tree, `${ws.tree}.old`);
  symlinkSync(beside.path, ws.tree);
  await assert.rejects(openNamespace(ws.box.holder), { code: 'SANDBOX_UNAVAILABLE' });
});
