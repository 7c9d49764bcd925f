/** Commands that publish, deploy, or bring text from the network. */
import type { CommandTable, CommandNode, KnowledgeRule } from '../schema.ts';
import { outwardSubcommands } from './outward.ts';

const person = 'Leave it to a person, or to the pipeline of the project.';
const none = { none: ['help'] };

const pushes: KnowledgeRule = {
  code: 'deploy.git-push',
  bound: 'block',
  why: 'publishes commits to a remote repository',
  instead: 'Commit, and let a person push.',
  when: none,
  match: ['git push', 'git -C x -c a.b=c --no-pager push -f o m', 'git PUSH'],
  noMatch: ['git stash push', 'git log --grep push', 'git commit -m push', 'git push --help'],
};

const header: KnowledgeRule = {
  code: 'secrets.git-header',
  bound: 'block',
  why: 'shows a header that carries credentials',
  instead: null,
  when: {
    operand: { starts: ['http.extraheader', 'http.https://'] },
    none: ['unset'],
  },
  match: ['git config --get-all http.extraheader', 'git config http.extraHeader'],
  noMatch: ['git config --get user.name', 'git config http.proxy'],
};

const text = (option: string): CommandNode => ({
  payloads: [{ option, language: 'shell' }],
});

const git: CommandNode = {
  about: 'works on a repository, whose configuration may name programs to run',
  style: 'posix',
  options: {
    config: '-c= --config-env=',
    value: '-C= --git-dir= --work-tree= --namespace= --super-prefix= --exec-path[=] --attr-source=',
    flag: '-p -P --paginate --no-pager --bare --no-replace-objects --literal-pathspecs',
    other: '--glob-pathspecs --noglob-pathspecs --icase-pathspecs --no-optional-locks',
    help: '--help --version -v -h --html-path --man-path --info-path',
  },
  payloads: [{ option: 'config', language: 'config' }],
  subs: {
    push: { options: { help: '--help -h' }, rules: [pushes] },
    subtree: {
      subs: {
        push: {
          rules: [{ ...pushes, code: 'deploy.git-subtree', match: ['git subtree push -P x o m'] }],
        },
      },
    },
    'send-pack': {
      options: { help: '--help -h' },
      rules: [{ ...pushes, match: ['git send-pack x y'], noMatch: ['git send-pack --help'] }],
    },
    svn: {
      subs: {
        dcommit: {
          options: { help: '--help -h -n --dry-run' },
          rules: [{ ...pushes, match: ['git svn dcommit'], noMatch: ['git svn dcommit -n'] }],
        },
      },
    },
    lfs: {
      subs: {
        push: {
          options: { help: '--help -h --dry-run -d' },
          rules: [{ ...pushes, match: ['git lfs push origin main'], noMatch: ['git lfs pull'] }],
        },
      },
    },
    submodule: {
      subs: {
        foreach: {
          style: 'posix',
          options: { flag: '--recursive -q --quiet' },
          payloads: [{ operand: 'all', language: 'shell' }],
        },
      },
    },
    rebase: { ...text('exec'), options: { exec: '-x= --exec=' } },
    bisect: { subs: { run: { wrapper: {} } } },
    'filter-branch': {
      options: {
        filter:
          '--env-filter= --tree-filter= --index-filter= --parent-filter= --msg-filter= ' +
          '--commit-filter= --tag-name-filter= --setup=',
      },
      ...text('filter'),
    },
    difftool: { options: { run: '-x= --extcmd=' }, ...text('run') },
    grep: {
      reads: 'rest',
      options: { value: '-e= -f= -m= -A= -B= -C=', pager: '-O[=] --open-files-in-pager[=]' },
      pattern: 'value',
      payloads: [{ option: 'pager', language: 'shell' }],
    },
    'blame|annotate': { reads: 'operands' },
    'show|diff|cat-file': { reads: 'operands' },
    log: { options: { patch: '-p -u --patch -c --cc -U= -G= -S= -L=' } },
    'commit|tag|notes': {
      options: { says: '-m= --message=', file: '-F= --file=', other: '-a -s -S[=] -n -q -v' },
    },
    config: { rules: [header] },
  },
};

const vercelWithout: KnowledgeRule = {
  code: 'deploy.vercel',
  bound: 'block',
  why: 'deploys the project',
  instead: person,
  when: { operands: 'none', none: ['help'] },
  match: ['vercel', 'vercel --prod', 'npx vercel@latest --prod', 'vc --yes'],
  noMatch: ['vercel --version', 'vercel dev', 'vercel --help', 'vercel ls'],
};
const vercelDeploy: KnowledgeRule = {
  ...vercelWithout,
  when: none,
  match: ['vercel deploy', 'vercel deploy --prod', 'npx vercel deploy', 'vc DEPLOY'],
  noMatch: ['vercel env ls', 'echo vercel deploy', 'vercel help deploy', 'vercel deploy --help'],
};
const railwayUp: KnowledgeRule = {
  ...vercelWithout,
  code: 'deploy.railway',
  when: none,
  match: ['railway up', 'railway up --detach', 'npx @railway/cli up'],
  noMatch: ['railway status', 'railway logs', 'railway --version', 'echo railway up'],
};

/** Fetches text; its output must not become a script. */
const fetches = (about: string): CommandNode => ({ about, source: 'download' });

export const networkCommands: CommandTable = {
  git,
  'vercel|vc': {
    about: 'works on a deployment',
    options: {
      help: '--help -h --version -v',
      value:
        '-A= --local-config= -Q= --global-config= -t= --token= -S= --scope= --cwd= -T= --team=',
    },
    rules: [vercelWithout],
    subs: {
      deploy: { options: { help: '--help -h' }, rules: [vercelDeploy] },
      ...outwardSubcommands('vercel', {
        deploy: 'promote, rollback, redeploy, remove, rm, alias, domains add, env add, env rm',
        login: 'login, logout, tokens add',
      }),
    },
  },
  railway: {
    about: 'works on a deployment',
    options: {
      help: '--help -h --version -V',
      value: '-s= --service= -e= --environment= -p= --project=',
    },
    subs: {
      up: { options: { help: '--help -h' }, rules: [railwayUp] },
      ...outwardSubcommands('railway', {
        deploy: 'deploy, redeploy, down, delete',
        login: 'login, logout, variables set',
      }),
      run: { style: 'posix', wrapper: {} },
    },
  },
  curl: {
    ...fetches('talks to a server'),
    options: {
      help: '--help -h --version -V',
      sends:
        '-d= --data= --data-binary= --data-raw= --data-urlencode= -F= --form= -T= --upload-file=',
      value: '-o= -H= -u= -A= -X= -e= -b= -c= -m= -x= -w= -K= --url= --output= --header= --user=',
      other: '--request= --max-time= --proxy= --cookie= --config= --retry= --connect-timeout=',
    },
  },
  wget: {
    ...fetches('talks to a server'),
    options: { help: '--help -h --version -V', sends: '--post-file= --body-file=' },
  },
  'fetch|http|https|httpie|xh|aria2c|lynx|w3m|links|ftp|lwp-request|GET|lwp-download|axel':
    fetches('talks to a server'),
  'iwr|irm|invoke-webrequest|invoke-restmethod': fetches('talks to a server'),
  'nc|ncat|netcat|socat|gsutil|rclone': fetches('talks to another machine'),
  'scp|sftp': {
    about: 'works on another machine',
    options: { program: '-S=', value: '-i= -P= -o= -F= -J= -l= -c= -D= -b= -s= -B= -R=' },
    payloads: [{ option: 'program', language: 'shell' }],
  },
  rsync: {
    about: 'works on another machine',
    options: {
      program: '-e= --rsh= --rsync-path=',
      value: '-f= -M= -T= -B= --exclude= --include= --filter= --files-from= --exclude-from=',
    },
    payloads: [{ option: 'program', language: 'shell' }],
  },
};
