// Random scripts of the shell's whole grammar with commands `m1`, `m2` … hidden in them, and what
// `bash -n`, which parses and runs nothing, says of them.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import * as fc from 'fast-check';
import './seed.ts';

/** Words around a command in place of `@`; each keeps the command executed in bash. */
const inWords = [
  ['echo $(@)', 'echo "a $(@) b"', 'echo `@`', 'x=$(@)', 'x=([3]=$(@) b)', 'y[$(@)]=1'],
  ['export A=$(@) B', 'echo ${x#$(@)}', 'echo "${x:-$(@)}"', 'echo ${x/$(@)/$(@)}'],
  ['echo ${x:$(@):1}', 'echo ${x[$(@)]}', 'echo $((1 + $(@)))', 'echo $((a[$(@)]))'],
  ['echo a > $(@)', 'echo a 2>>"$(@)"', 'cat <<< $(@)', 'cat <(@) >(@)', 'cat < <(@)'],
  ['cat <<E\na $(@) b\nE', 'cat <<-E\n\t`@`\n\tE', 'echo {a,$(@)}', 'echo a"b"$(@)\'c\'*'],
  ['[[ $(@) == a* || -n $(@) ]]', '(( i = $(@) ))', 'echo \\\n$(@)', 'echo ${x:=`@`}'],
].flat();

const around = [
  ['@; @', '@ && @ || @', '@ | @ |& @', '@ & @', '@\n@', '! @', 'time @', '{ @; }', '(@)'],
  ['if @; then @; elif @; then @; else @; fi', 'while @; do @; done', 'until @; do @; done'],
  ['for x in a b; do @; done', 'for ((i=0;i<1;i++)); do @; done', 'select x in a; do @; done'],
  ['case a in a) @;; b|c) @;& *) @;; esac', 'f() { @; }', 'function g { @; }', 'h() (@)'],
  ['coproc @', 'coproc K { @; }', '{ @; } > x 2>&1', '@ # a comment with m999', 'A=1 %', '>x %'],
  ['while @; do @; done < x', '(@) | { @; }', '@ <<< y', '% \'m998\' "m997"', '% \\\n a'],
].flat();

/** A script and the commands that are executed in it. */
export interface Hidden {
  readonly text: string;
  readonly markers: readonly string[];
}

/** A script with up to about twenty commands, three levels deep. */
export const hidden: fc.Arbitrary<Hidden> = fc
  .letrec<{ node: string }>((tie) => ({
    node: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      fc.constant('@'),
      ...[around, inWords].map((forms) =>
        fc
          .tuple(fc.constantFrom(...forms), fc.array(tie('node'), { minLength: 4, maxLength: 4 }))
          .map(([form, nodes]) => fill(form, nodes)),
      ),
    ),
  }))
  .node.map((text) => {
    const markers: string[] = [];
    const named = text.replaceAll('@', () => {
      markers.push(`m${markers.length}`);
      return markers.at(-1) ?? '';
    });
    return { text: named, markers };
  });

/** Puts groups in place of `@`; where the grammar wants a simple command stands `%`. */
function fill(form: string, nodes: readonly string[]): string {
  let at = 0;
  return form.replaceAll(/[@%]/g, (place) => {
    if (place === '%') return '@';
    const node = nodes[at % nodes.length] ?? '@';
    at += 1;
    if (/^@$/.test(node)) return node;
    // Backticks do not nest without escapes, and a here-document ends at a line of its own.
    if (form.includes('`@`')) return '@';
    return form.includes('<<E') || form.includes('<<-E') ? '@' : `{ ${node}\n}`;
  });
}

/** Whether bash parses each of the scripts. */
export function acceptedByBash(scripts: readonly string[]): readonly boolean[] {
  const directory = mkdtempSync(path.join(tmpdir(), 'trl-scripts-'));
  try {
    scripts.forEach((script, index) => {
      writeFileSync(path.join(directory, String(index)), script);
    });
    // One shell for all: a process for each script would cost more than the parsing.
    const loop = `for ((i = 0; i < ${scripts.length}; i++)); do /bin/bash -n "$i"; echo $?; done`;
    const { stdout } = spawnSync('/bin/bash', ['--norc', '-c', loop], {
      cwd: directory,
      env: { LC_ALL: 'C.UTF-8' },
      encoding: 'utf8',
    });
    return stdout
      .trim()
      .split('\n')
      .map((status) => status === '0');
  } finally {
    rmSync(directory, { recursive: true });
  }
}
