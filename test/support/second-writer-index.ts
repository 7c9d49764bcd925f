// A program for a mount namespace of its own: a second writer beside a session whose workspace has
// a mount in it, so that its changes are found by scans. Prints one line of JSON.
import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import { startRuntime } from './daemon.ts';
import { filesOf, replaceDirectory, save } from './second-writer.ts';
import { openSession } from './session.ts';

await using runtime = await startRuntime();
const { root: dir, socketPath } = runtime;
const volume = path.join(dir, 'vol');
mkdirSync(volume);
execFileSync('mount', ['-t', 'tmpfs', 'none', volume]);
try {
  execFileSync('sh', ['-c', 'echo one >f; mkdir d; echo x >d/f'], { cwd: dir });
  await using session = await openSession(socketPath, { working_dir: dir });
  await session.run('cat f d/f; cat new');
  save(dir, 'f', 'two\n');
  save(dir, 'new', 'n\n');
  replaceDirectory(dir, 'd', { new: 'dn\n' });
  const { exec_id, snapshot, changes } = await session.run(
    'for f in f new d/new; do echo + >>$f; done',
  );
  const after = filesOf(dir);
  appendFileSync(path.join(dir, 'f'), 'later\n');
  const { data } = await session.client.ask('exec.undo', { exec_id });
  const told = changes.map(({ path: name, kind }: { path: string; kind: string }) => [name, kind]);
  const { method } = snapshot;
  const { totals } = data;
  process.stdout.write(JSON.stringify({ method, told, after, totals, undone: filesOf(dir) }));
} finally {
  execFileSync('umount', ['-l', volume]);
}
