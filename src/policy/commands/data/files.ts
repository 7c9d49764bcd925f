/** Commands that delete or overwrite files. */
import type { CommandTable, KnowledgeRule } from '../schema.ts';

const elsewhere = 'Delete the files by name without force, or ask a person to.';

const tree: KnowledgeRule = {
  code: 'fs.rmdir-s',
  bound: 'block',
  why: 'deletes a tree',
  instead: elsewhere,
  when: { operand: { starts: ['/s'] } },
  match: ['rmdir /s x', 'rd /S /Q x', 'RMDIR /s x'],
  noMatch: ['rmdir x', 'rmdir -p a/b'],
};

const makesFileSystem = (name: string): KnowledgeRule => ({
  code: 'fs.mkfs',
  bound: 'block',
  why: 'makes a file system, which erases what the device holds',
  instead: null,
  when: { none: ['help'] },
  never: 'machine',
  match: [`${name} /dev/sdb`, `/sbin/${name} -F x.img`],
  noMatch: [`man ${name}`, `echo ${name} /dev/sdb`, `${name} --help`],
});

const help = { help: '--help --version -V' };

const volumes = ['/dev/', ...Array.from('abcdefghijklmnopqrstuvwxyz', (letter) => `${letter}:`)];

export const fileCommands: CommandTable = {
  'rm|grm': {
    about: 'deletes files',
    options: {
      recursive: '-r -R --recursive',
      force: '-f -F --force',
      other: '-i -I -d -v --interactive[=] --one-file-system --dir --verbose',
      root: '--no-preserve-root --preserve-root[=]',
      help: '--help --version',
    },
    rules: [
      {
        code: 'fs.rm-rf',
        bound: 'block',
        why: 'deletes a tree by force',
        instead: elsewhere,
        when: { all: ['recursive', 'force'] },
        never: 'machine',
        match: ['rm -rf x', 'rm -f a -R b', 'rm --recur --forc x', 'rm x -rf', 'RM -RF x'],
        noMatch: ['rm -r x', 'rm -f x', 'rm -- -rf', 'rm x y', 'echo rm -rf x'],
      },
    ],
  },
  'rmdir|rd': { about: 'deletes directories', rules: [tree] },
  'del|erase': {
    about: 'deletes files',
    rules: [
      {
        ...tree,
        code: 'fs.del-s',
        match: ['del /s /q x', 'erase /S x'],
        noMatch: ['del x', 'echo del /s'],
      },
    ],
  },
  format: {
    about: 'formats a volume',
    options: help,
    rules: [
      {
        code: 'fs.format',
        bound: 'block',
        why: 'formats a volume',
        instead: null,
        // A command of Windows: elsewhere the name is a project's own, until a volume is named.
        when: { none: ['help'], builtin: true, operand: { starts: volumes } },
        match: ['format C:', 'FORMAT d: /q', 'format /dev/sda1'],
        noMatch: ['npm run format', 'formatter x', './format', 'format', 'format src'],
      },
    ],
  },
  'mkfs|mkfs.*': { about: 'makes a file system', options: help, rules: [makesFileSystem('mkfs')] },
  'mke2fs|newfs': {
    about: 'makes a file system',
    options: { help: '-V --help' },
    rules: [makesFileSystem('mke2fs')],
  },
  'dd|gdd': {
    about: 'copies raw bytes over files and devices',
    rules: [
      {
        code: 'fs.dd',
        bound: 'block',
        why: 'copies raw bytes, which overwrites files and devices',
        instead: 'Copy files with cp.',
        when: { operand: { starts: ['if='] } },
        never: 'machine',
        match: ['dd if=/dev/zero of=x', 'dd of=x IF=y', 'dd "if=$x" of=y'],
        noMatch: ['dd --help', 'dd of=x', 'echo dd if=x'],
      },
    ],
  },
  find: {
    about: 'walks a tree; may delete, write or start programs',
    style: 'exact',
    wrapper: { at: ['-exec', '-execdir', '-ok', '-okdir'], until: [';', '+'] },
  },
  'fd|fdfind': {
    about: 'walks a tree; may start programs',
    wrapper: { at: ['-x', '--exec', '-X', '--exec-batch'], until: [';'] },
  },
};
