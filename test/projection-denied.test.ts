// Denied files do not exist: every probe of the table finds them while nothing is denied, and none
// does below a mask. The overlay is the test's own; the daemon's is held to the same table.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { LayerAttributes } from '../src/workspace/changes/layer-attributes.ts';
import { compileMask } from '../src/workspace/projection/mask.ts';
import { readVisibility } from '../src/workspace/projection/visibility.ts';
import { noOverlay } from './support/changes.ts';
import {
  deniedProbes,
  deniedRules,
  deniedSigns,
  plantDenied,
  probeVariables,
  type DeniedProbe,
} from './support/denied-probes.ts';

const mark = '@@probe';

test('no probe of the table finds a denied file', { skip: cannot() }, async (t) => {
  using yard = new Yard();
  const root = path.join(yard.path, 'ws');
  mkdirSync(root);
  plantDenied(root);
  const { uid, gid } = statSync(root);
  using marks = new LayerAttributes();
  const mask = await compileMask({
    root,
    maskDir: path.join(yard.path, 'mask'),
    visibility: readVisibility({ allow: [], deny: deniedRules }, { root, home: '/nonexistent' }),
    owner: { uid, gid },
    marks,
  });
  const probes = deniedProbes.filter(({ needs }) => needs === undefined || isHere(needs));
  const together = probes.filter((probe) => probe.alone !== true);
  const alone = probes.filter((probe) => probe.alone === true);
  const run = (layer: string | null): Map<string, string> =>
    new Map(
      [together, ...alone.map((one) => [one])].flatMap((some) => [
        ...output(yard.path, layer, some),
      ]),
    );
  const open = run(null);
  const blind = probes.filter(({ name }) => !deniedSigns.test(open.get(name) ?? ''));
  assert.deepEqual(
    blind.map(({ name }) => name),
    [],
    'these find nothing where nothing is denied',
  );
  const closed = run(mask.state.directory);
  const found = probes.filter(({ name }) => deniedSigns.test(closed.get(name) ?? ''));
  assert.deepEqual(
    found.map(({ name }) => [name, closed.get(name)]),
    [],
  );
  assert.ok(probes.length >= 200, `${probes.length} probes`);
  t.diagnostic(`${probes.length} probes`);
});

/** What each probe printed, in a sandbox over an overlay of the workspace. */
function output(
  yard: string,
  mask: string | null,
  probes: readonly DeniedProbe[],
): Map<string, string> {
  const ran = spawnSync('unshare', ['-Urm', 'sh', '-ec', inside, 'sh', yard, mask ?? ''], {
    encoding: 'utf8',
    input: probes.map(scriptOf).join('\n'),
    env: { PATH: process.env['PATH'], LC_ALL: 'C.UTF-8', ...probeVariables },
    maxBuffer: 256 * 1024 * 1024,
    timeout: 120_000,
  });
  const parts = ran.stdout.split(`${mark}\n`).slice(1);
  assert.equal(parts.length, probes.length, `${ran.stderr.slice(-2_000)} ${ran.status}`);
  return new Map(probes.map(({ name }, at) => [name, parts[at] ?? '']));
}

function scriptOf({ command }: DeniedProbe): string {
  const quoted = `'${command.replaceAll("'", String.raw`'\''`)}'`;
  return `echo; echo ${mark}; timeout 20 sh -c ${quoted} </dev/null 2>/dev/null`;
}

/** `$1` is the yard with `ws`, `$2` the mask layer or nothing. */
const inside = `
  layers=$(mktemp -d "$1/layers.XXXXXX"); mkdir "$layers/upper" "$layers/work"
  mount -t tmpfs none /mnt; mkdir /mnt/merged
  mount -i -t overlay overlay /mnt/merged -o "lowerdir=\${2:+$2:}$1/ws,upperdir=$layers/upper,\\
workdir=$layers/work,userxattr,index=off,xino=off"
  links=
  for one in bin lib lib64 sbin; do
    if test -L /$one; then links="$links --symlink usr/$one /$one"
    elif test -d /$one; then links="$links --ro-bind /$one /$one"; fi
  done
  exec bwrap --unshare-all --die-with-parent --ro-bind /usr /usr $links \
    --ro-bind-try /etc/alternatives /etc/alternatives --proc /proc --dev /dev \\
    --tmpfs /tmp --dir /mnt --bind /mnt/merged "$1/ws" --chdir "$1/ws" --setenv HOME /tmp sh
`;

function cannot(): string | false {
  for (const program of ['unshare', 'bwrap', 'git', 'perl']) {
    if (!isHere(program)) return `there is no ${program}`;
  }
  return noOverlay();
}

function isHere(program: string): boolean {
  return spawnSync('sh', ['-c', 'command -v "$1"', 'sh', `/usr/bin/${program}`]).status === 0;
}

class Yard implements Disposable {
  readonly path = realpathSync(mkdtempSync(path.join(tmpdir(), 'trl-denied-')));

  [Symbol.dispose](): void {
    spawnSync('chmod', ['-R', 'u+rwx', this.path], { stdio: 'ignore' });
    spawnSync('rm', ['-rf', this.path]);
  }
}
