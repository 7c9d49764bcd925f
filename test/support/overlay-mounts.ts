// A program for a mount namespace of its own: what a command sees of file systems that are mounted
// in a workspace. Prints one line of JSON.
import { mkdirSync, readdirSync, symlinkSync, rmSync } from 'node:fs';
import path from 'node:path';
import { openNamespace } from '../../src/runner/namespace.ts';
import { onHost, runIn } from './box.ts';
import { layered } from './overlay.ts';

using ws = await layered({
  files: { 'vol/under': 'u\n', 'in/deep/under': 'u\n', 'hidden/v/x': 'x\n', a: 'a\n' },
  mask: 'mknod hidden c 0 0',
});
onHost('mount -t tmpfs none vol && echo in > vol/in && chmod 777 vol && chmod 666 vol/in', ws.tree);
onHost('mount -t tmpfs none in/deep && echo deep > in/deep/in && chmod 777 in/deep', ws.tree);
onHost('mount -t tmpfs none hidden/v && echo SECRET > hidden/v/in', ws.tree);
const look = async (): Promise<string> => {
  const holder = await openNamespace(ws.box.holder);
  await holder.bounded;
  const script = 'cat vol/in in/deep/in hidden/v/in; echo w > vol/w; ls . vol in/deep';
  const { stdout } = await runIn(holder, ws.box, script, { cwd: ws.tree });
  holder.close();
  return stdout;
};
const first = await look();
// What a command may do to lead the mount elsewhere: a link in the place of a directory above it.
const { upper } = ws.overlay;
rmSync(path.join(upper, 'in'), { recursive: true, force: true });
symlinkSync('/etc', path.join(upper, 'in'));
mkdirSync(path.join(ws.tree, 'etc'));
const second = await look();
const outside = readdirSync(path.join(ws.tree, 'vol')).toSorted();
onHost('umount vol in/deep hidden/v', ws.tree);
process.stdout.write(`${JSON.stringify({ first, second, outside })}\n`);
