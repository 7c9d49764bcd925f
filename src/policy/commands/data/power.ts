/** Commands that end the machine, end processes, or gain rights. */
import type { CommandTable, CommandNode, KnowledgeRule } from '../schema.ts';

function powers(name: string, help: string): CommandNode {
  const rule: KnowledgeRule = {
    code: `power.${name}`,
    bound: 'block',
    why: 'ends or restarts the machine',
    instead: null,
    when: { none: ['help'] },
    match: [name, `/sbin/${name} -f`, `${name.toUpperCase()} now`],
    noMatch: [`echo ${name}`, `man ${name}`, `${name} --help`],
  };
  return { about: 'ends or restarts the machine', options: { help }, rules: [rule] };
}

const managed: KnowledgeRule = {
  code: 'power.systemctl',
  bound: 'block',
  why: 'ends or restarts the machine',
  instead: null,
  when: {
    operand: { at: 0, equals: ['poweroff', 'reboot', 'halt', 'kexec', 'soft-reboot'] },
    none: ['help'],
  },
  match: ['systemctl poweroff', 'systemctl --force reboot', 'loginctl reboot', 'systemctl -f halt'],
  noMatch: ['systemctl status reboot', 'systemctl restart nginx', 'systemctl --help'],
};

const target: KnowledgeRule = {
  ...managed,
  code: 'power.target',
  when: {
    operand: {
      equals: ['poweroff.target', 'reboot.target', 'halt.target', 'shutdown.target'],
    },
  },
  match: ['systemctl isolate reboot.target', 'systemctl start poweroff.target'],
  noMatch: ['systemctl status reboot.target', 'systemctl cat halt.target'],
};

const level: KnowledgeRule = {
  ...managed,
  code: 'power.init',
  when: { operand: { at: 0, equals: ['0', '6'] } },
  match: ['init 0', '/sbin/init 6', 'telinit 6'],
  noMatch: ['init 3', 'npm init', 'git init', 'telinit q'],
};

/** `valued` are the options that take a value. */
function gains(name: string, valued: string): CommandNode {
  const rule: KnowledgeRule = {
    code: `privilege.${name}`,
    bound: 'block',
    why: 'takes the rights of another user',
    instead: 'Run it without other rights, or ask a person to run it.',
    when: { none: ['help'] },
    match: [`${name} id`, `/usr/bin/${name} -u x id`, name],
    noMatch: [`man ${name}`, `echo ${name}`, `rg ${name}`, `${name} --version`],
  };
  return {
    about: 'takes the rights of another user',
    style: 'posix',
    options: { help: '--help --version', value: valued, command: '-c= --command=' },
    rules: [rule],
    payloads: [{ option: 'command', language: 'shell' }],
  };
}

const forced: KnowledgeRule = {
  code: 'kill.force',
  bound: 'block',
  why: 'ends processes without letting them finish',
  instead: 'Send TERM: kill PID.',
  when: { any: ['kill'], none: ['list', 'help'] },
  match: ['kill -9 1', 'kill -KILL 1', 'kill -SIGKILL 1', 'pkill -9 node', 'killall -KILL x'],
  noMatch: ['kill 9', 'kill -15 1', 'kill -TERM 9', 'kill -l', 'kill -l 9', 'pkill -f 9'],
};

const forcedByName: KnowledgeRule = {
  ...forced,
  when: {
    value: { option: 'signal', equals: ['9', 'kill', 'sigkill'] },
    none: ['list', 'help'],
  },
  match: ['kill -s KILL 1', 'kill -n 9 1', 'pkill --signal SIGKILL x', 'killall -s 9 x'],
  noMatch: ['kill -s TERM 1', 'kill -s 9 -l', 'pkill --signal TERM kill'],
};

const stops: KnowledgeRule = {
  ...forced,
  instead: 'Stop-Process -Id PID, without -Force.',
  when: { any: ['force'] },
  match: ['Stop-Process -Force -Id 1', 'stop-process -Id 1 -fo', 'spps -Force 1'],
  noMatch: ['Stop-Process -Id 1', 'echo Stop-Process -Force', 'rg "Stop-Process -Force"'],
};

const signals = '-9 -KILL -SIGKILL -kill -sigkill -Kill -SigKill -09';

export const powerCommands: CommandTable = {
  'stop-process|spps': {
    about: 'ends processes',
    style: 'windows',
    options: { force: '-force -f -fo -for -forc', value: '-id= -name= -inputobject=' },
    rules: [stops],
  },
  shutdown: powers('shutdown', '--help'),
  reboot: powers('reboot', '--help --version'),
  halt: powers('halt', '--help --version'),
  poweroff: powers('poweroff', '--help --version'),
  'systemctl|loginctl': {
    about: 'changes services of the machine',
    options: {
      help: '--help -h --version',
      value: '-H= --host= -M= --machine= -t= --type= -s= --signal= -n= --lines= -o= --output=',
      root: '-p= --property= --root= --message= --what= --job-mode=',
    },
    rules: [managed],
    subs: {
      'isolate|start|restart': { rules: [target] },
    },
  },
  'init|telinit': { about: 'changes the run level of the machine', rules: [level] },
  sudo: gains('sudo', '-u= -g= -C= -h= -p= -r= -t= -T= -U= -D= -R= --user= --group= --chdir='),
  su: gains('su', '-s= --shell= -g= --group= -G= -w='),
  doas: gains('doas', '-u= -C='),
  pkexec: gains('pkexec', '--user='),
  run0: gains('run0', '-u= -g= -D= --user= --group= --chdir= --unit= --property= --setenv='),
  sudoedit: gains('sudoedit', '-u= -g= -p='),
  runuser: gains('runuser', '-u= -g= -G= -s='),
  kill: {
    about: 'ends processes',
    style: 'exact',
    options: {
      kill: signals,
      signal: '-s= -n= --signal=',
      list: '-l -L --list --table',
      help: '--help --version',
    },
    rules: [forced, forcedByName],
  },
  fuser: {
    about: 'ends processes by the files that they use',
    style: 'exact',
    options: { kill: signals, list: '-l --list-signals', help: '-V --version', value: '-n= -N=' },
    rules: [
      {
        ...forced,
        match: ['fuser -k -9 3000/tcp', 'fuser -KILL -k x'],
        noMatch: ['fuser 9/tcp', 'fuser -k -TERM 9/tcp', 'fuser -l'],
      },
    ],
  },
  'pkill|killall|skill|killall5': {
    about: 'ends processes by name',
    style: 'exact',
    options: {
      kill: signals,
      signal: '-s= --signal=',
      list: '-l --list --list-name',
      help: '--help --version -V',
      value: '-u= -U= -g= -G= -P= -t= --uid= --pidfile=',
    },
    rules: [forced, forcedByName],
  },
};
