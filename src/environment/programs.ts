/**
 * Which variables programs read by themselves, as data: for the warnings of `legacy` mode. A final
 * `*` matches any rest.
 */

const proxies =
  'HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY http_proxy https_proxy all_proxy no_proxy';
const certificates = 'SSL_CERT_FILE SSL_CERT_DIR';
const aws = 'AWS_*';
const google = 'GOOGLE_* CLOUDSDK_* GCLOUD_* GCP_*';
const azure = 'AZURE_* ARM_*';
const kubernetes = 'KUBECONFIG KUBERNETES_* KUBE_*';
const docker = 'DOCKER_* BUILDKIT_* BUILDX_*';
const git = `GIT_* SSH_AUTH_SOCK ${proxies} ${certificates}`;
const node = `NODE_* ${proxies}`;
const npm = `npm_config_* NPM_CONFIG_* NPM_TOKEN NODE_AUTH_TOKEN YARN_* PNPM_* ${node}`;
const python = `PYTHON* VIRTUAL_ENV CONDA_* REQUESTS_CA_BUNDLE ${proxies} ${certificates}`;
const java = 'JAVA_* MAVEN_* M2_HOME GRADLE_* ORG_GRADLE_PROJECT_*';
const postgres = 'PG*';
const mysql = 'MYSQL_*';

/** Programs that read the same, and what they read. */
const rows: readonly (readonly [string, string])[] = [
  ['aws sam cdk eksctl s3cmd aws-vault s5cmd', `${aws} ${proxies}`],
  ['gcloud gsutil bq', google],
  ['az azcopy func azd', azure],
  ['gh', 'GH_* GITHUB_*'],
  ['glab', 'GITLAB_* GL_*'],
  ['tea', 'GITEA_*'],
  ['hub', 'GITHUB_*'],
  ['git', git],
  ['ssh scp sftp rsync ssh-add mosh autossh', 'SSH_AUTH_SOCK SSH_AGENT_PID'],
  ['node', node],
  ['npm npx pnpm yarn corepack', npm],
  ['bun bunx', `BUN_* ${npm}`],
  ['deno', `DENO_* ${proxies}`],
  ['python python3 python2 ipython jupyter pytest tox nox', python],
  ['pip pip3 pipx', `PIP_* ${python}`],
  ['poetry', `POETRY_* ${python}`],
  ['uv uvx', `UV_* ${python}`],
  ['twine', `TWINE_* ${python}`],
  ['conda mamba micromamba', `CONDA_* MAMBA_* ${proxies}`],
  ['cargo rustc rustup', `CARGO_* RUST* ${proxies}`],
  ['go gofmt', `GO* CGO_* ${proxies}`],
  ['java javac jar', java],
  ['mvn mvnw gradle gradlew sbt ant', java],
  ['ruby bundle gem rake rails', `BUNDLE_* GEM_* RAILS_* RACK_* RUBY* ${proxies}`],
  ['php composer artisan', `COMPOSER_* PHP* ${proxies}`],
  ['dotnet nuget', `DOTNET_* NUGET_* MSBUILD* ${proxies}`],
  ['mix elixir iex', 'MIX_* HEX_* ELIXIR_* ERL_*'],
  [
    'make cmake ninja gcc g++ cc c++ clang clang++ ld',
    'CC CXX CFLAGS CXXFLAGS CPPFLAGS LDFLAGS CPATH LIBRARY_PATH CMAKE_*',
  ],
  ['terraform tofu terragrunt', `TF_* TERRAGRUNT_* TERRAFORM_* ${aws} ${google} ${azure}`],
  ['pulumi', `PULUMI_* ${aws} ${google} ${azure}`],
  ['packer', `PACKER_* PKR_* ${aws} ${google} ${azure}`],
  ['ansible ansible-playbook ansible-vault ansible-galaxy', 'ANSIBLE_*'],
  ['vagrant', 'VAGRANT_*'],
  ['kubectl k9s kustomize stern kubectx kubens skaffold istioctl', kubernetes],
  ['helm helmfile', `HELM_* ${kubernetes}`],
  ['argocd', `ARGOCD_* ${kubernetes}`],
  ['flux', `FLUX_* GITHUB_TOKEN GITLAB_TOKEN ${kubernetes}`],
  ['docker docker-compose buildx', `${docker} COMPOSE_* ${proxies}`],
  ['podman buildah skopeo', `CONTAINER_* REGISTRY_* ${docker}`],
  ['psql pg_dump pg_dumpall pg_restore createdb dropdb pgbench pg_isready', postgres],
  ['mysql mysqldump mysqladmin mariadb mariadb-dump', mysql],
  ['redis-cli', 'REDISCLI_*'],
  ['mongosh mongo mongodump mongorestore', 'MONGO*'],
  ['sqlcmd bcp', 'SQLCMD*'],
  ['influx', 'INFLUX_*'],
  ['vault', 'VAULT_*'],
  ['consul', 'CONSUL_*'],
  ['nomad', 'NOMAD_*'],
  ['op', 'OP_*'],
  ['bw bws', 'BW_* BWS_*'],
  ['doppler', 'DOPPLER_*'],
  ['infisical', 'INFISICAL_*'],
  ['sops age', `SOPS_* AGE_* ${aws} ${google}`],
  ['gpg gpg2', 'GNUPGHOME GPG_*'],
  ['pass', 'PASSWORD_STORE_* GNUPGHOME'],
  ['heroku', 'HEROKU_*'],
  ['flyctl fly', 'FLY_*'],
  ['vercel', 'VERCEL_*'],
  ['netlify', 'NETLIFY_*'],
  ['wrangler', 'CLOUDFLARE_* CF_* WRANGLER_*'],
  ['firebase', `FIREBASE_* ${google}`],
  ['supabase', 'SUPABASE_*'],
  ['railway', 'RAILWAY_*'],
  ['render', 'RENDER_*'],
  ['doctl', 'DIGITALOCEAN_*'],
  ['hcloud', 'HCLOUD_*'],
  ['linode-cli', 'LINODE_*'],
  ['oci', 'OCI_*'],
  ['ibmcloud', 'IBMCLOUD_* IC_*'],
  ['openstack', 'OS_*'],
  ['stripe', 'STRIPE_*'],
  ['twilio', 'TWILIO_*'],
  ['sentry-cli', 'SENTRY_*'],
  ['codecov', 'CODECOV_*'],
  ['snyk', 'SNYK_*'],
  ['sonar-scanner', 'SONAR_*'],
  ['datadog-ci', 'DATADOG_* DD_*'],
  ['newrelic', 'NEW_RELIC_*'],
  ['circleci', 'CIRCLECI_*'],
  ['bk buildkite-agent', 'BUILDKITE_*'],
  ['huggingface-cli hf', `HF_* HUGGINGFACE_* HUGGING_FACE_* TRANSFORMERS_* ${proxies}`],
  ['wandb', 'WANDB_*'],
  ['mlflow', 'MLFLOW_*'],
  ['kaggle', 'KAGGLE_*'],
  ['modal', 'MODAL_*'],
  ['replicate', 'REPLICATE_*'],
  ['openai', 'OPENAI_*'],
  ['claude', 'ANTHROPIC_* CLAUDE_*'],
  ['gemini', 'GEMINI_* GOOGLE_*'],
  ['llm aider', 'OPENAI_* ANTHROPIC_* GEMINI_*'],
  ['rclone', 'RCLONE_*'],
  ['restic', `RESTIC_* ${aws}`],
  ['borg', 'BORG_*'],
  ['prisma', 'PRISMA_*'],
  ['curl', `${proxies} ${certificates} CURL_*`],
  ['wget aria2c', proxies],
  ['apt apt-get brew dnf yum apk', `${proxies} HOMEBREW_* APT_*`],
  ['xdg-open firefox chromium', 'DISPLAY WAYLAND_DISPLAY BROWSER'],
  ['less more man', 'LESS PAGER MANPATH'],
  ['vi vim nvim nano crontab visudo', 'EDITOR VISUAL VIM*'],
];

const table: ReadonlyMap<string, readonly string[]> = new Map(
  rows.flatMap(([programs, variables]) => {
    const patterns = [...new Set(variables.split(' '))];
    return programs.split(' ').map((program): [string, string[]] => [program, patterns]);
  }),
);

/**
 * Patterns of the variables that a program reads by itself; empty for one that is not known.
 *
 * @param program a name or a path
 */
export function programVariablePatterns(program: string): readonly string[] {
  const base = program.slice(program.lastIndexOf('/') + 1);
  const bare = base.replace(/\.(?:exe|cmd|bat)$/i, '').replace(/^(python|pip)[\d.]+$/, '$1');
  return table.get(base) ?? table.get(bare.toLowerCase()) ?? [];
}
