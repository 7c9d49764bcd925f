// What `trl run` says of changes, and which sessions it leaves.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { ChangeView } from '../src/client/index.ts';
import { change, exec, Scripted, session, trees, type Script } from './support/scripted.ts';

let scripted: Scripted;
before(async () => {
  scripted = await Scripted.open();
});
after(() => scripted[Symbol.asyncDispose]());
const run: Scripted['run'] = (...all) => scripted.run(...all);
const [treeA, treeB] = trees;

/** A runtime in which a command changes `changes`, and ends at once. */
function running(changes: readonly ChangeView[]): Script {
  const end = {
    exec_id: exec,
    session_id: session,
    exit_code: 0,
    signal: null,
    duration_ms: 1,
    timed_out: false,
    stopped: null,
    stdout_bytes: 0,
    stderr_bytes: 0,
    reverted: [],
    state_dropped: [],
    ended_background: 0,
    warnings: [],
    hints: [],
    sandbox: { kind: 'bubblewrap', level: 'full', network: 'off', warm: false },
    snapshot: { before: treeA, after: treeB, method: 'overlay' },
    changes,
    changes_omitted: 0,
    workspace_mode: 'direct',
  };
  return {
    'session.create': { session_id: session },
    'session.destroy': { session_id: session, state: 'terminated' },
    'exec.stream': { stream_id: exec, exec_id: exec, offset: 0, end },
  };
}

test('trl run keeps its session where changes wait, and says how to go on', async () => {
  const staged = [change('a.txt', { state: 'staged' }), change('b', { state: 'staged' })];
  const held = change('.git/config', { state: 'held', reason: 'git-config' });
  const ran = await run(running([...staged, held]), ['run', '--workspace-mode', 'staged', 'true']);
  assert.equal(ran.code, 0, ran.stderr);
  // The end of input may be sent before the command is over.
  const methods = ran.asked.map(({ method }) => method).filter((one) => one !== 'exec.write');
  assert.deepEqual(methods, ['session.create', 'exec.stream']);
  assert.equal(ran.asked[1]?.params['workspace_mode'], 'staged');
  const to = ` --session ${session}`;
  assert.equal(
    ran.stderr,
    `trl: staged, not in the real tree yet: a.txt, b
trl: look: trl diff${to}; publish: trl workspace apply${to}; or discard
trl: held back from the real tree: .git/config (git-config)
trl: apply it: trl workspace apply --held${to}
`,
  );
});

test('trl run says nothing of changes that simply happened, unless it is asked to', async () => {
  const changes = [change('a.txt'), change('new', { kind: 'added', before: null })];
  const quiet = await run(running(changes), ['run', 'true']);
  assert.deepEqual([quiet.code, quiet.stderr], [0, '']);
  assert.equal(quiet.asked.at(-1)?.method, 'session.destroy');
  const loud = await run(running(changes), ['run', '-v', 'true']);
  const guide = `look: trl diff ${exec}; undo: trl undo ${exec}`;
  assert.equal(loud.stderr, `M  a.txt\nA  new\ntrl: ${guide}\n`);
  const dry = await run(running([change('a.txt', { state: 'discarded' })]), [
    'run',
    '--dry-run',
    'true',
  ]);
  const nothing = `trl: nothing of it was kept; look: trl diff ${exec}\n`;
  assert.equal(dry.stderr, `M  a.txt  (discarded)\n${nothing}`);
  assert.equal(dry.asked[1]?.params['workspace_mode'], 'discard');
  const both = await run({}, ['run', '--dry-run', '--workspace-mode', 'staged', 'true']);
  assert.deepEqual([both.code, both.asked.length], [125, 0]);
});
