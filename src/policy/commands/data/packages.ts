/** Package managers and their runners. The lists of names are npm 11's own. */
import type { CommandTable, CommandNode, KnowledgeRule } from '../schema.ts';
import { outwardSubcommands } from './outward.ts';

const none = { none: ['help'] };

const publish: KnowledgeRule = {
  code: 'publish.npm',
  bound: 'block',
  why: 'publishes the package',
  instead: 'Build it with npm pack, and let a person publish.',
  when: none,
  match: ['npm publish', 'npm --prefix x pub', 'npm publis --tag next', 'npx -y npm publish'],
  noMatch: ['npm run publish', 'npm pack', 'npm help publish', 'npm publish --help'],
};
const managed: KnowledgeRule = {
  ...publish,
  code: 'publish.package',
  match: ['pnpm publish', 'yarn npm publish', 'yarn publish', 'bun publish', 'pnpm -r publish'],
  noMatch: ['pnpm pack', 'yarn add publish', 'bun run publish'],
};
const login: KnowledgeRule = {
  code: 'auth.npm-login',
  bound: 'block',
  why: 'changes the credentials for the registry',
  instead: 'Let a person log in.',
  when: none,
  match: ['npm login', 'npm logi', 'npm add-user', 'npm adduser --registry x', 'pnpm login'],
  noMatch: ['npm whoami', 'npm ping', 'npm help login', 'npm install login'],
};
const token: KnowledgeRule = {
  ...login,
  code: 'auth.npm-token',
  match: ['npm token list', 'npm toke create', 'npm token'],
  noMatch: ['npm test', 'npm run token', 'npm install token'],
};

const help = { help: '--help -h -? --version -v' };
const runner: CommandNode = {
  about: 'runs a package, and may fetch it first',
  style: 'posix',
  options: {
    command: '-c= --call= --shell-mode=',
    value: '-p= --package= -w= --workspace= --prefix= --registry= --cache= --userconfig=',
    flag: '-y --yes --no --no-install -q --quiet --silent -s --bun --prefer-offline',
  },
  wrapper: { packages: true },
  payloads: [{ option: 'command', language: 'shell' }],
};
const shellMode: CommandNode = {
  ...runner,
  options: { ...runner.options, command: '--call=', flag: '-c --shell-mode -r --recursive' },
};

const npmCommands =
  'access adduser approve-scripts audit bugs cache ci completion config dedupe deny-scripts ' +
  'deprecate diff dist-tag docs doctor edit exec explain explore find-dupes fund get help ' +
  'help-search init install install-ci-test install-scripts install-test link ll login logout ls ' +
  'org outdated owner pack ping pkg prefix profile prune publish query rebuild repo restart root ' +
  'run sbom search set shrinkwrap stage star stars start stop team test token trust undeprecate ' +
  'uninstall unpublish unstar update version view whoami author home issues info show find add ' +
  'unlink remove rm r un rb list ln create i it cit u up c s se tst t ddp v run-script ' +
  'clean-install clean-install-test x why la verison ic innit in ins inst insta ' +
  'instal isnt isnta ' +
  'isntal isntall install-clean isntall-clean hlep dist-tags upgrade udpate rum ' +
  'sit urn ogr add-user';

const npmValued =
  '--prefix= -C= -w= --workspace= --registry= --loglevel= --cache= --userconfig= --globalconfig= ' +
  '--tag= --otp= --access= --scope= --omit= --include= --script-shell= ' +
  '--node-options= --auth-type= ' +
  '--before= --depth= --install-strategy= --cpu= --os= --libc= --location= -L= --npm-version=';

export const packageManagerCommands: CommandTable = {
  npm: {
    about: 'installs packages and runs their scripts',
    options: {
      value: npmValued,
      flag: '-g --global -s --silent -q --quiet -d --verbose -f --force -y --yes --no --ws --json',
      other: '--workspaces --dry-run --offline --prefer-offline --ignore-scripts --no-audit',
      ...help,
    },
    abbreviates: npmCommands,
    subs: {
      publish: { options: help, rules: [publish] },
      ...outwardSubcommands('npm', {
        package: 'unpublish, deprecate, dist-tag add, dist-tag rm, access set, owner add, owner rm',
        login: 'logout, trust',
      }),
      'login|adduser|add-user': { options: help, rules: [login] },
      token: { options: help, rules: [token] },
      'exec|x': { ...runner, options: { ...runner.options, command: '-c= --call=' } },
      explore: { style: 'posix', wrapper: { skip: 1 } },
    },
  },
  'npx|bunx|pnpx|pnx|uvx': runner,
  pipx: { about: 'runs a package, and may fetch it first', subs: { run: runner } },
  pnpm: {
    about: 'installs packages and runs their scripts',
    options: {
      value: '-C= --dir= --filter= -F= --loglevel= --reporter= --workspace-concurrency=',
      flag: '-r --recursive -w --workspace-root -s --silent --color --no-color',
      ...help,
    },
    subs: {
      publish: { options: help, rules: [managed] },
      'login|adduser': { options: help, rules: [login] },
      'exec|dlx': shellMode,
    },
  },
  yarn: {
    about: 'installs packages and runs their scripts',
    options: { value: '--cwd=', flag: '-s --silent', ...help },
    subs: {
      publish: { options: help, rules: [managed] },
      login: { options: help, rules: [login] },
      npm: {
        subs: {
          publish: { options: help, rules: [managed] },
          login: { options: help, rules: [login] },
        },
      },
      'exec|dlx': runner,
      workspaces: {
        subs: {
          foreach: {
            style: 'posix',
            options: {
              flag: '-A --all -p --parallel -v --verbose -t --topological -i --interlaced -R -W',
              value: '-j= --jobs= --include= --exclude= --from= --since[=]',
            },
            wrapper: {},
          },
        },
      },
      workspace: { style: 'posix', subs: {}, wrapper: { skip: 1 } },
    },
  },
  bun: {
    about: 'installs packages and runs their scripts',
    options: { value: '--cwd=', ...help, code: '-e= --eval= -p= --print=' },
    subs: { publish: { options: help, rules: [managed] }, x: runner },
    payloads: [{ option: 'code', language: 'code' }],
  },
  corepack: { about: 'runs a package manager', wrapper: { packages: true }, style: 'posix' },
  'lerna|nx': {
    about: 'runs scripts of packages',
    subs: {
      exec: { wrapper: {}, style: 'posix' },
      ...outwardSubcommands('lerna', { package: 'publish, release' }),
    },
  },
};
