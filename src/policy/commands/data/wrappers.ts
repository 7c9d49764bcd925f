/** Commands whose arguments are another command. Options are read up to the first operand. */
import type { CommandTable, CommandNode, KnowledgeRule } from '../schema.ts';
import { outwardSubcommands } from './outward.ts';

function wraps(options: Record<string, string> = {}, skip = 0): CommandNode {
  return {
    about: 'runs another command',
    style: 'posix',
    options,
    wrapper: { unless: 'query', ...(skip === 0 ? {} : { skip }) },
  };
}

const value = (list: string): Record<string, string> => ({ value: list });

/** Joins its operands with blanks and gives them to a shell. */
const joined = (list: string): CommandNode => ({
  about: 'runs a command line',
  style: 'posix',
  options: value(list),
  payloads: [{ operand: 'all', language: 'shell' }],
});

const each: CommandNode = {
  about: 'runs command lines',
  options: value('-n= --names= -c= -r= -w= --warmup= -p= --prepare='),
  payloads: [{ operand: 'each', language: 'shell' }],
};

const traced =
  '-o= -e= -s= -p= -u= -E= -a= -P= -I= -O= -S= -b= -X= --output= --trace= --signal= --attach=';

const registryToken: KnowledgeRule = {
  code: 'auth.login',
  bound: 'block',
  why: 'changes the credentials for the registry',
  instead: 'Let a person log in.',
  when: { operand: { at: 0, starts: ['pypi-token', 'http-basic'] } },
  match: ['poetry config pypi-token.pypi x', 'poetry config http-basic.foo a b'],
  noMatch: ['poetry config virtualenvs.in-project true', 'poetry config --list'],
};

const runners =
  'nohup|setsid|command|builtin|noglob|nocorrect|chronic|caffeinate|fakeroot|torify|torsocks';
const windows =
  'new-session|new|new-window|neww|split-window|splitw|respawn-pane|respawnp|respawn-window|' +
  'respawnw|display-popup|popup';

export const wrapperCommands: CommandTable = {
  'timeout|gtimeout': wraps(value('-k= -s= --kill-after= --signal='), 1),
  'nice|gnice': wraps(value('-n= --adjustment=')),
  [runners]: wraps({
    query: '-v -V',
    value: '-t= --pid= --time=',
    flag: '-p -f -c -i -d -m -u --fork --ctty --wait',
  }),
  'stdbuf|gstdbuf': wraps(value('-i= -o= -e= --input= --output= --error=')),
  'time|gtime': wraps(value('-f= -o= --format= --output=')),
  taskset: wraps(value('-p= --pid='), 1),
  ionice: wraps(value('-c= -n= -p= -P= -u= --class= --classdata= --pid=')),
  chrt: wraps(value('-T= -P= -D= --sched-runtime= --sched-period= --sched-deadline='), 1),
  flock: {
    ...wraps(value('-w= -E= --timeout= --wait= --conflict-exit-code='), 1),
    options: {
      value: '-w= -E= --timeout= --wait= --conflict-exit-code=',
      command: '-c= --command=',
    },
    wrapper: { skip: 1, shell: true },
    payloads: [{ option: 'command', language: 'shell' }],
  },
  watch: joined('-n= --interval= -q= --equexit='),
  'strace|ltrace|dtruss': wraps(value(traced)),
  unshare: wraps(value('-S= -G= -R= -w= --root= --wd= --setuid= --setgid= --map-user=')),
  chroot: wraps(value('--userspec= --groups='), 1),
  nsenter: wraps(value('-t= -S= -G= --target= --setuid= --setgid=')),
  'setarch|linux32|linux64|i386|x86_64': wraps(value('-B=')),
  prlimit: wraps(value('-p= --pid= -o= --output=')),
  numactl: wraps(value('-m= -N= -C= -i= -p= --membind= --cpunodebind= --physcpubind=')),
  'systemd-run': wraps(value('-p= -u= -t= -M= --unit= --property= --slice= --uid= --gid= -E=')),
  'systemd-inhibit': wraps(value('--what= --who= --why= --mode=')),
  'xvfb-run': wraps(value('-n= -f= -e= -s= -p= -w=')),
  'dbus-run-session|unbuffer|rlwrap|proot|catchsegv|cpulimit|firejail|tsocks': wraps(
    value('-l= -p= -e= --config-file='),
  ),
  'proxychains|proxychains4': wraps(value('-f=')),
  'start-stop-daemon': {
    ...wraps(),
    options: {
      exec: '-x= --exec= -a= --startas=',
      flag: '-S --start -b --background -m --make-pidfile -o --oknodo -q --quiet -t --test',
      query: '-K --stop -T --status -H --help -V --version',
      value:
        '-p= --pidfile= --pid= --ppid= -u= --user= -n= --name= -s= --signal= -R= --retry= -g= ' +
        '--group= -c= --chuid= -r= --chroot= -d= --chdir= -N= --nicelevel= -P= --procsched= ' +
        '-I= --iosched= -k= --umask= -O= --output=',
    },
    wrapper: { after: '--', split: 'exec', unless: 'query' },
  },
  faketime: wraps({ flag: '-m -f --exclude-monotonic', value: '-p= --date-prog=' }, 1),
  chpst: wraps(value('-u= -U= -/= -e= -d= -n= -l= -L= -m= -o= -p= -f= -c= -r= -b= -a= -s= -t=')),
  'softlimit|s6-softlimit': wraps(value('-a= -c= -d= -f= -h= -l= -m= -o= -p= -r= -s= -t=')),
  'setuidgid|envuidgid|envdir|setlock|s6-setuidgid|s6-envdir|s6-setlock': wraps({}, 1),
  sem: joined('-j= --jobs= --id= --semaphorename= --st= --semaphoretimeout= --timeout='),
  wsl: wraps(value('-d= --distribution= -u= --user= --cd= --shell-type=')),
  'direnv|doppler|op|aws-vault|cargo-watch': {
    about: 'runs another command in an environment of its own',
    wrapper: { after: '--' },
    subs: {
      ...outwardSubcommands('doppler', { login: 'login, logout, signin, configure' }),
      'exec|run': { style: 'posix', wrapper: { skip: 1 } },
    },
  },
  'asdf|volta': {
    about: 'runs a tool of the project',
    subs: { 'exec|run': { style: 'posix', wrapper: { packages: true } } },
  },
  'mise|rtx|fnm|nvm': {
    about: 'runs a tool of the project',
    wrapper: { after: '--', packages: true },
    subs: {
      'exec|run': { style: 'posix', wrapper: { skip: 1, packages: true } },
    },
  },
  'poetry|uv|pipenv|bundle|rbenv|pyenv|conda|hatch|rye|pdm': {
    about: 'runs another command in an environment of its own',
    subs: {
      'run|exec': {
        ...wraps(value('-n= --name= -p= --prefix= --with= --python= --package=')),
        wrapper: { packages: true },
      },
      tool: { subs: { run: { style: 'posix', wrapper: { packages: true } } } },
      ...outwardSubcommands('poetry', {
        package: 'publish',
        login: 'auth login, auth logout, auth token',
      }),
      config: { rules: [registryToken] },
    },
  },
  'cross-env|env-cmd': { ...wraps(value('-f= -e=')), wrapper: { assignments: true } },
  'cross-env-shell': joined(''),
  'ssh-agent': wraps(value('-a= -E= -O= -P= -t=')),
  'nix-shell|nix': {
    about: 'runs another command in an environment of its own',
    options: { command: '--run= --command=', value: '-p= -I= --packages=' },
    payloads: [{ option: 'command', language: 'shell' }],
    subs: { 'develop|shell|run': { wrapper: { at: ['-c', '--command'] } } },
  },
  'env|genv': {
    about: 'shows variables, or runs another command with them',
    style: 'posix',
    options: {
      split: '-S= --split-string=',
      clear: '-i - --ignore-environment',
      help: '--help --version',
      value: '-u= -C= --unset= --chdir= -P= -a= --argv0=',
      flag: '-0 --null -v --debug --list-signal-handling',
      signals: '--block-signal[=] --default-signal[=] --ignore-signal[=]',
    },
    wrapper: { assignments: true, split: 'split' },
    rules: [
      {
        code: 'secrets.environment',
        bound: 'block',
        why: 'shows all variables, and with them secrets',
        instead: 'Ask for the one name that is needed; never for its value.',
        when: { starts: 'nothing', none: ['help', 'clear', 'split'] },
        match: ['env', 'env -0', '/usr/bin/env A=1', 'env -u X', 'env > x', 'env | sort'],
        noMatch: ['env A=1 node x.js', 'env -i', 'env --help', 'env -S "node x"', 'npm run env'],
      },
    ],
  },
  xargs: {
    about: 'runs a command with arguments from its input',
    style: 'posix',
    options: {
      replace: '-I= -i[=] --replace[=]',
      shows: '-a= --arg-file=',
      value: '-n= -L= -P= -s= -d= -E= -R= -S= -J= --max-args= --max-lines[=] --max-procs=',
      other: '--delimiter= --max-chars= --eof[=] -e[=] -l[=] --process-slot-var=',
    },
    wrapper: { input: true },
  },
  'parallel|rush': {
    about: 'runs a command with arguments from its input',
    style: 'posix',
    options: value('-j= --jobs= -a= --arg-file= -S= -n= -N= -L= -d= --delay= --timeout= --tmpdir='),
    wrapper: { until: [':::', '::::', ':::+', '::::+'], input: true },
    payloads: [{ operand: 'all', language: 'shell' }],
  },
  'busybox|busybox.*|toybox|coreutils|rustup-run': wraps(),
  'eatmydata|dbus-launch|with-contenv|valgrind|watchexec|choom|tini|dumb-init|daemonize': wraps(
    value('-n= -p= -c= -e= -o= -l= -r= -w= -u= -E= --adjust= --exts= --watch= --rewrite='),
  ),
  runcon: wraps(value('-t= -u= -r= -l= --type= --user= --role= --range=')),
  setpriv: wraps(
    value(
      '--reuid= --regid= --ruid= --euid= --rgid= --egid= --groups= --inh-caps= --ambient-caps= ' +
        '--bounding-set= --securebits= --pdeathsig= --ptracer= --selinux-label=',
    ),
  ),
  'gosu|su-exec': wraps({}, 1),
  'ld.so|ld-linux*|ld-musl*': wraps(value('--library-path= --preload= --argv0= --audit=')),
  perf: {
    about: 'measures a command',
    subs: {
      'stat|record|trace|mem|c2c|kvm': wraps(
        value('-e= -o= -p= -t= -C= -F= -r= -I= -c= --output='),
      ),
    },
  },
  onchange: { about: 'runs a command again and again', wrapper: { after: '--' } },
  chokidar: {
    about: 'runs a command again and again',
    options: { command: '-c= --command=', value: '-d= -t= -i= --ignore=' },
    payloads: [{ option: 'command', language: 'shell' }],
  },
  dotenv: {
    ...wraps(value('-f= --file= -e= -v= -p= -c[=]')),
    subs: { run: { style: 'posix', wrapper: {} } },
  },
  script: {
    about: 'records a shell',
    options: {
      command: '-c= --command=',
      value: '-o= -I= -O= -B= -T= -E= -m= --log-in= --log-out= --log-io=',
    },
    payloads: [{ option: 'command', language: 'shell' }],
  },
  expect: {
    about: 'drives programs',
    options: { code: '-c=' },
    payloads: [{ option: 'code', language: 'code' }],
    script: true,
  },
  'tmux|byobu': {
    about: 'starts programs that stay',
    options: value('-L= -S= -f= -T='),
    subs: {
      [windows]: joined('-s= -n= -t= -c= -x= -y= -F= -e= -l= -p='),
      'run-shell|run|if-shell|if|pipe-pane|pipep': {
        options: value('-t= -d= -c='),
        payloads: [{ operand: 'each', language: 'shell' }],
      },
      'send-keys|send': {
        options: value('-t= -N='),
        payloads: [{ operand: 'each', language: 'shell' }],
      },
    },
  },
  screen: wraps(value('-S= -c= -e= -h= -p= -s= -t= -T= -x=')),
  'nodemon|entr': {
    about: 'runs a command again and again',
    style: 'posix',
    options: { exec: '-x= --exec=', value: '-w= --watch= -e= --ext= -d=' },
    payloads: [{ option: 'exec', language: 'shell' }],
    wrapper: {},
  },
  'concurrently|hyperfine|npm-run-all|run-s|run-p': each,
};
