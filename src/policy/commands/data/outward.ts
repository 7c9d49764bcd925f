/**
 * Programs whose sub-commands publish, deploy, log in or show credentials, as one table. Commands
 * that only show existing content or prepare it on this machine are not included.
 */
import type { CommandTable, CommandNode, KnowledgeRule } from '../schema.ts';

const person = 'Leave it to a person, or to the pipeline of the project.';

const outwardActions = {
  package: ['publish.package', 'publishes a package', 'Build it, and let a person publish.'],
  image: ['publish.image', 'publishes an image', 'Build it, and let a person push.'],
  release: ['publish.release', 'publishes for others to see', person],
  commits: ['deploy.push', 'publishes commits to a remote repository', person],
  deploy: ['deploy.release', 'changes what runs for others', person],
  login: ['auth.login', 'changes or shows the credentials for a service', 'Let a person log in.'],
} as const satisfies Record<string, readonly [string, string, string]>;
type OutwardAction = keyof typeof outwardActions;

/** Sub-commands by what they do, separated by commas: `push, image push`. */
export type OutwardActions = Partial<Record<OutwardAction, string>>;

const help = '--help -h --version --dry-run';

function ruleOf(action: OutwardAction, example: string): KnowledgeRule {
  const [code, why, instead] = outwardActions[action];
  const match = [example, `timeout 5 ${example} x`, `${example} --x`];
  const noMatch = [`echo ${example}`, `${example} --help`, `rg "${example}"`];
  return { code, bound: 'block', why, instead, when: { none: ['help'] }, match, noMatch };
}

/** The nodes below `program` (its first name), for sub-commands such as `image push`. */
export function outwardSubcommands(
  program: string,
  does: OutwardActions,
): Record<string, CommandNode> {
  const subs: Record<string, CommandNode> = {};
  for (const action of Object.keys(outwardActions).filter(
    (name): name is OutwardAction => name in outwardActions,
  )) {
    const paths = (does[action] ?? '').split(', ').filter((each) => each !== '');
    for (const each of paths) {
      put(subs, each.split(' '), ruleOf(action, `${program} ${each.replace(/!$/, '')}`));
    }
  }
  return subs;
}

/** `configure!` is it only without a word behind it. */
function put(
  subs: Record<string, CommandNode>,
  [named = '', ...rest]: string[],
  given: KnowledgeRule,
): void {
  const first = named.replace(/!$/, '');
  const when = { ...given.when, operands: 'none' } as const;
  const bare = given.match.filter((example) => !example.endsWith(' x'));
  const rule = first === named ? given : { ...given, when, match: bare };
  const node = subs[first] ?? { options: { help } };
  subs[first] = node;
  if (rest.length === 0) {
    node.rules = [rule];
    return;
  }
  node.subs ??= {};
  put(node.subs, rest, rule);
}

/** A program of which only the outward effect is known. */
function outward(names: string, does: OutwardActions, valued = ''): CommandTable {
  const [program = ''] = names.split('|');
  const options = { help, ...(valued === '' ? {} : { value: valued }) };
  const about = 'works on packages, services or accounts';
  return { [names]: { about, options, subs: outwardSubcommands(program, does) } };
}

/** A program of which any operand may be the task: `mvn clean deploy`. */
function tasks(
  names: string,
  action: OutwardAction,
  equals: string,
  starts: readonly string[] = [],
): CommandTable {
  const all = equals.split(' ');
  const [program = ''] = names.split('|');
  const rule = ruleOf(action, `${program} ${all[0]}`);
  const operand = { equals: all, ...(starts.length === 0 ? {} : { starts: [...starts] }) };
  const options = { help, value: '-f= -p= -s= -P= -b= -I= -C= -c= --file= --settings=' };
  const when = { ...rule.when, operand };
  return { [names]: { about: 'runs tasks', options, rules: [{ ...rule, when }] } };
}

/** A program that does it whatever its words are. */
function always(names: string, action: OutwardAction): CommandTable {
  const [program = ''] = names.split('|');
  const rule = ruleOf(action, program);
  return { [names]: { about: 'publishes', options: { help }, rules: [rule] } };
}

const scoped =
  '-R= --repo= --hostname= --context= -n= --namespace= --profile= --region= --project=';

const cargo = outwardSubcommands('cargo', { package: 'publish, yank', login: 'login, logout' });

export const outwardCommands: CommandTable = {
  cargo: {
    about: 'builds and publishes crates',
    options: { help, value: '--config= -C= -Z=' },
    subs: { ...cargo, '+stable|+beta|+nightly': { subs: cargo } },
  },
  ...outward('twine', { package: 'upload, register' }),
  ...outward('flit|maturin|whey|enscons', { package: 'publish, upload' }),
  ...outward('gem', { package: 'push, yank, owner', login: 'signin, signout' }),
  ...outward('rake', { package: 'release' }),
  ...outward('mix', { package: 'hex.publish, hex.retire', login: 'hex.user, hex.organization' }),
  ...outward('cabal|stack|luarocks', { package: 'upload' }),
  ...outward('opam|nimble|jsr|wasmer|ovsx|wasm-pack', {
    package: 'publish',
    login: 'login, logout',
  }),
  ...outward('vsce', { package: 'publish, unpublish', login: 'login, logout' }),
  ...outward('pod', { package: 'trunk push, repo push', login: 'trunk register' }),
  ...outward('dart|flutter', {
    package: 'pub publish, pub lish',
    login: 'pub login, pub token add',
  }),
  ...outward('pub', { package: 'publish' }),
  ...outward('dotnet', { package: 'nuget push, nuget delete' }),
  ...outward('nuget|choco', { package: 'push, delete', login: 'setapikey, apikey' }),
  ...outward('conan', { package: 'upload', login: 'user, remote login' }),
  ...outward('anaconda', { package: 'upload', login: 'login' }),
  ...outward('melos|changeset', { package: 'publish' }),
  ...outward('lein', { package: 'deploy' }),
  ...outward('goreleaser', { release: 'release' }),
  ...outward('web-ext', { package: 'sign' }),
  ...always('semantic-release|release-it', 'release'),
  ...always('gh-pages|ghp-import', 'release'),
  ...tasks(
    'mvn|mvnw',
    'package',
    'deploy deploy:deploy release:perform release:prepare site-deploy',
    ['nexus-staging:'],
  ),
  ...tasks('gradle|gradlew', 'package', 'publish publishplugins uploadarchives bintrayupload', [
    'publishall',
    'publishtosonatype',
    'closeandrelease',
  ]),
  ...tasks(
    'sbt',
    'package',
    'publish publishsigned +publish +publishsigned release sonatyperelease',
  ),
  ...outward('skopeo', { image: 'sync', login: 'login, logout' }),
  ...outward('crane|oras|regctl', {
    image: 'push, copy, image copy, append, tag',
    login: 'login, auth login, registry login',
  }),
  ...outward('ko', { image: 'build, publish, resolve', deploy: 'apply, create', login: 'login' }),
  ...outward('cosign', { image: 'sign, attest, upload, copy', login: 'login' }),
  ...outward(
    'helm',
    { package: 'push, cm-push', login: 'registry login, registry logout' },
    `${scoped} --kube-context= --kubeconfig=`,
  ),
  ...outward(
    'gh',
    {
      login:
        'auth login, auth logout, auth refresh, auth setup-git, auth switch, auth token, ' +
        'ssh-key add, gpg-key add, secret set, secret delete',
      release:
        'release create, release upload, release delete, release edit, repo create, ' +
        'repo delete, repo fork, repo rename, repo edit, gist create, gist edit',
    },
    scoped,
  ),
  ...outward(
    'glab|tea|hub',
    {
      login: 'auth login, auth logout, login add, ssh-key add',
      release: 'release create, release upload, release delete, repo create, create, gist create',
    },
    scoped,
  ),
  'terraform|tofu|terragrunt': {
    about: 'changes what runs for others',
    // `-chdir=DIR` is one word.
    style: 'exact',
    options: { help: '-help --help -h -version --version' },
    subs: outwardSubcommands('terraform', {
      deploy: 'apply, destroy, import, run-all, state rm, state push',
      login: 'login, logout',
    }),
  },
  ...outward(
    'pulumi',
    { deploy: 'up, update, destroy, import', login: 'login, logout' },
    '-C= -s=',
  ),
  ...outward('cdk|cdktf|copilot', { deploy: 'deploy, destroy, bootstrap' }, scoped),
  ...outward('sam|serverless|sls', { deploy: 'deploy, delete, remove', login: 'login' }, scoped),
  ...outward(
    'aws',
    {
      login:
        'configure!, configure set, configure sso, configure import, sso login, sso logout, ' +
        'login, codeartifact login, codeartifact get-authorization-token, ' +
        'ecr get-login-password, ecr get-login, ' +
        'sts get-session-token, sts assume-role, iam create-access-key',
      deploy:
        'cloudformation deploy, cloudformation create-stack, cloudformation update-stack, ' +
        'cloudformation delete-stack, lambda update-function-code, deploy push, ' +
        'deploy create-deployment, ecs update-service, amplify start-deployment',
    },
    `${scoped} --output= --endpoint-url= --query=`,
  ),
  ...outward(
    'gcloud',
    {
      login:
        'init, auth login, auth revoke, auth activate-service-account, auth print-access-token, ' +
        'auth print-identity-token, auth configure-docker, auth application-default, ' +
        'iam service-accounts keys create',
      deploy: 'app deploy, run deploy, functions deploy, deploy releases create, builds submit',
    },
    `${scoped} --account= --configuration= --format=`,
  ),
  ...outward(
    'az',
    {
      login: 'login, logout, acr login, account get-access-token, ad sp create-for-rbac',
      deploy:
        'webapp up, webapp deploy, webapp deployment, functionapp deploy, ' +
        'deployment group create, deployment sub create, containerapp up, staticwebapp deploy',
    },
    '--subscription= -o= --output= --query=',
  ),
  ...outward('heroku', {
    login: 'login, logout, auth:login, auth:token, auth:logout, authorizations:create, keys:add',
    deploy:
      'container:push, container:release, releases:rollback, builds:create, pipelines:promote, ' +
      'apps:destroy, deploy:jar',
  }),
  ...outward('netlify|ntl', { deploy: 'deploy', login: 'login, logout' }, '--auth= --filter='),
  ...outward('firebase', {
    deploy: 'deploy, hosting:channel:deploy, hosting:clone, appdistribution:distribute',
    login: 'login, logout, login:ci, login:add',
  }),
  ...outward('wrangler', {
    deploy:
      'deploy, publish, rollback, delete, pages deploy, pages publish, versions deploy, ' +
      'versions upload',
    login: 'login, logout, secret put',
  }),
  ...outward('supabase', {
    deploy: 'db push, functions deploy, config push, link',
    login: 'login, logout, secrets set',
  }),
  ...outward('eas|expo|expo-cli', {
    deploy: 'submit, update, deploy, publish, upload:ios, upload:android',
    login: 'login, logout',
  }),
  ...outward('fastlane', {
    release: 'deliver, pilot, supply, release, deploy, upload_to_app_store',
  }),
  ...outward('convex|modal|dokku|eb|kamal|amplify', {
    deploy: 'deploy, publish, push',
    login: 'login, logout, token set, token new',
  }),
  ...outward('cf|ibmcloud|doctl|pscale', {
    deploy: 'push, deploy-request deploy, apps create-deployment, app create-deployment',
    login: 'login, logout, auth init, auth login',
  }),
  ...outward('huggingface-cli|hf', {
    release: 'upload, upload-large-folder, repo create, repo delete',
    login: 'login, logout, auth login, auth logout',
  }),
  ...outward('wandb|kaggle|databricks|snyk|sentry-cli|vault|bw|tailscale|tsh|argocd', {
    login: 'login, logout, auth!, auth login, unlock, up',
    deploy: 'bundle deploy, app sync',
    release: 'datasets create, datasets version, kernels push, releases deploys',
  }),
  ...outward('hg|sl|fossil|darcs|bzr', { commits: 'push' }, '-R= --cwd= --config='),
  ...outward('svn', { commits: 'commit, ci, import' }, '--username= --password= --config-dir='),
  ...outward('jj', { commits: 'git push' }, '-R= --repository= --config='),
  ...outward('mkdocs|mike', { release: 'gh-deploy, deploy' }),
  ...outward('hugo', { release: 'deploy' }),
};
