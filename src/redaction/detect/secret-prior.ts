/** Estimates from the text of a command what it prints. Nothing is run or looked up. */
import type { SecretPrior } from '../secret-finding.ts';

const secretFiles = new RegExp(
  [
    String.raw`(?:^|[/\s"'=])(?:\.env(?:\.[\w.-]+|rc)?|\.envrc|\.netrc|_netrc|\.pgpass|`,
    String.raw`\.my\.cnf|\.npmrc|\.pypirc|\.htpasswd|\.git-credentials|\.dockercfg|`,
    String.raw`\.vault-token|\.s3cfg|\.boto|id_(?:rsa|dsa|ecdsa|ed25519)|shadow|master\.key|`,
    String.raw`credentials(?:\.\w+)?|secrets?(?:[./_-][\w./-]*)?|[\w./-]*(?:secret|credential|`,
    String.raw`password|passwd|token)s?[\w-]*\.(?:json|ya?ml|txt|env|toml|ini|conf|key)|`,
    String.raw`kubeconfig|terraform\.tfvars|[\w.-]+\.tfstate|wp-config\.php|[\w.-]*\.(?:pem|`,
    String.raw`key|p12|ovpn|kdbx|tfvars)|key\.txt)(?:["'\s;|&)]|$)|\.(?:aws\/(?:credentials|`,
    String.raw`config)|kube\/config|docker\/config\.json|ssh\/id_\w+|config\/gcloud\/[\w./-]+|`,
    String.raw`config\/gh\/hosts\.yml|config\/hub|gem\/credentials|`,
    String.raw`cargo\/credentials(?:\.toml)?|m2\/settings\.xml)|\/proc\/\S+\/environ`,
  ].join(''),
  'iu',
);
const reading = new RegExp(
  [
    String.raw`^(?:cat|bat|less|more|head|tail|grep|rg|egrep|ag|awk|sed|nl|strings|jq|yq|type|`,
    String.raw`source|cut|sort|tac|od|xxd|base64|openssl|get-content|tee|diff)$`,
  ].join(''),
  'u',
);

/** By program: the arguments with which it prints secrets. */
const printsSecrets: ReadonlyMap<string, RegExp> = new Map([
  ['env', /^\s*$/u],
  ['printenv', /^/u],
  ['set', /^\s*$/u],
  ['export', /^\s*(?:-p\s*)?$/u],
  ['declare', /^\s*-[px]/u],
  ['typeset', /^\s*-[px]/u],
  ['compgen', /-v/u],
  [
    'kubectl',
    new RegExp(
      [
        String.raw`\b(?:secrets?\b|config\s+view.*--raw|create\s+token|exec\b.*\b(?:env|`,
        String.raw`printenv)\b|describe\s+configmap)`,
      ].join(''),
      'u',
    ),
  ],
  ['oc', /\b(?:secrets?\b|whoami\s+(?:-t|--show-token))/u],
  ['gh', /\b(?:auth\s+(?:token|status\b.*(?:-t|--show-token))|secret\b)/u],
  ['glab', /\bauth\s+status\b.*-t|\btoken\b/u],
  ['vault', /\b(?:read|kv\s+get|login|token|unwrap|write|print\s+token|operator\s+init)\b/u],
  [
    'aws',
    new RegExp(
      [
        String.raw`\b(?:sts|secretsmanager\s+get-secret-value|ssm\s+get-parameters?|`,
        String.raw`configure\s+(?:get|export-credentials|list)|ecr\s+get-(?:login-password|`,
        String.raw`authorization-token)|iam\s+create-access-key|`,
        String.raw`codeartifact\s+get-authorization-token|lambda\s+get-function-configuration|`,
        String.raw`rds\s+generate-db-auth-token)\b`,
      ].join(''),
      'u',
    ),
  ],
  [
    'gcloud',
    new RegExp(
      [
        String.raw`\b(?:print-(?:access|identity|refresh)-token|secrets\s+versions\s+access|`,
        String.raw`iam\s+service-accounts\s+keys\s+create)\b`,
      ].join(''),
      'u',
    ),
  ],
  [
    'az',
    new RegExp(
      [
        String.raw`\b(?:account\s+get-access-token|keyvault\s+secret|storage\s+account\s+(?:keys|`,
        String.raw`show-connection-string)|ad\s+sp\s+create|acr\s+credential|cosmosdb\s+keys|`,
        String.raw`redis\s+list-keys|webapp\s+config\s+appsettings)\b`,
      ].join(''),
      'u',
    ),
  ],
  ['op', /\b(?:read|item\s+get|inject|signin|run|document\s+get)\b/u],
  ['pass', /^\s*(?!ls\b|find\b|git\b)\S/u],
  ['gopass', /\b(?:show|cat)\b|^\s*[\w/]+\s*$/u],
  ['bw', /\b(?:get|list|unlock)\b/u],
  ['lpass', /\bshow\b/u],
  ['doppler', /\b(?:secrets|run)\b/u],
  ['infisical', /\b(?:secrets|export|run)\b/u],
  ['chamber', /\b(?:read|export|env)\b/u],
  ['sops', /(?:^|\s)(?:-d|--decrypt|decrypt|exec-env)\b/u],
  ['ansible-vault', /\b(?:view|decrypt)\b/u],
  ['age', /(?:^|\s)(?:-d|--decrypt)\b/u],
  ['age-keygen', /^/u],
  ['ssh-keygen', /-y\b|-e\b/u],
  ['wg', /\b(?:genkey|genpsk|showconf)\b/u],
  ['terraform', /\b(?:output|show|console|state\s+(?:show|pull))\b/u],
  ['tofu', /\b(?:output|show|state\s+(?:show|pull))\b/u],
  ['pulumi', /--show-secrets|\bconfig\b/u],
  ['heroku', /\b(?:config|auth:token|pg:credentials\S*)(?:\b|:)/u],
  ['fly', /\b(?:auth\s+token|secrets|tokens)\b/u],
  ['flyctl', /\b(?:auth\s+token|secrets|tokens)\b/u],
  ['vercel', /\benv\b/u],
  ['netlify', /\benv/u],
  ['railway', /\bvariables\b/u],
  [
    'docker',
    new RegExp(
      [
        String.raw`\b(?:inspect|exec\b.*\b(?:env|printenv)|compose\s+config|swarm\s+(?:join-token|`,
        String.raw`unlock-key)|login)\b`,
      ].join(''),
      'u',
    ),
  ],
  ['podman', /\b(?:inspect|exec\b.*\b(?:env|printenv))\b/u],
  ['docker-compose', /\bconfig\b/u],
  ['helm', /\bget\s+values\b/u],
  ['ps', /(?:^|\s)-?[a-zA-Z]*e[a-zA-Z]*\s*(?:$|e\b)|\baux\s*e|\beww/u],
  ['npm', /\btoken\b|\bconfig\s+(?:get|list|ls)\b/u],
  ['yarn', /\bconfig\b/u],
  ['git', /\b(?:credential\s+fill|config\s+(?:-l|--list|--get)|remote\s+-v)\b/u],
  ['openssl', /\b(?:rand|genrsa|genpkey|rsa|pkey|ec|pkcs12)\b/u],
  ['pwgen', /^/u],
  ['uuidgen', /^\b$/u],
  ['security', /\bfind-(?:generic|internet)-password\b/u],
  ['secret-tool', /\blookup\b/u],
  ['systemctl', /\bshow-environment\b|\bshow\b.*environment/iu],
  ['redis-cli', /\bconfig\s+get\s+requirepass\b/iu],
  ['rails', /\bcredentials:(?:show|edit)|\bsecret\b/u],
  ['php', /\bartisan\s+key:generate\b/u],
  ['supabase', /\b(?:status|projects\s+api-keys)\b/u],
  ['stripe', /\b(?:config|login)\b/u],
  ['kubeadm', /\btoken\b/u],
  ['consul', /\bacl\b/u],
  ['nomad', /\bacl\b/u],
  ['circleci', /\bsetup\b/u],
  ['tailscale', /\bkeys?\b/u],
]);

/** By program: the arguments with which it prints many hashes and ids. */
const printsHashes: ReadonlyMap<string, RegExp> = new Map([
  ['sha1sum', /^/u],
  ['sha224sum', /^/u],
  ['sha256sum', /^/u],
  ['sha384sum', /^/u],
  ['sha512sum', /^/u],
  ['shasum', /^/u],
  ['md5sum', /^/u],
  ['md5', /^/u],
  ['b2sum', /^/u],
  ['b3sum', /^/u],
  ['cksum', /^/u],
  [
    'git',
    new RegExp(
      [
        String.raw`\b(?:log|show|ls-remote|ls-tree|rev-parse|rev-list|reflog|blame|diff|cat-file|`,
        String.raw`show-ref|branch|tag|stash|bisect|cherry|for-each-ref|fsck|ls-files|shortlog|`,
        String.raw`status)\b`,
      ].join(''),
      'u',
    ),
  ],
  ['nm', /^/u],
  ['readelf', /^/u],
  ['objdump', /^/u],
  ['xxd', /^/u],
  ['od', /^/u],
  ['hexdump', /^/u],
  ['strings', /^/u],
  ['ldd', /^/u],
  ['c++filt', /^/u],
  ['npm', /\b(?:ls|list|view|info|audit|outdated|pack)\b/u],
  ['pnpm', /\b(?:ls|list|why)\b/u],
  ['yarn', /\b(?:list|why|info)\b/u],
  ['pip', /\b(?:freeze|list|hash|download)\b/u],
  ['cargo', /\b(?:tree|metadata)\b/u],
  ['docker', /\b(?:images|image\s+ls|ps|pull|push|history|manifest|build)\b/u],
  ['podman', /\b(?:images|ps|pull)\b/u],
  ['openssl', /\b(?:x509|dgst|crl|s_client|asn1parse|sha\d+|md5)\b/u],
  ['ssh-keyscan', /^/u],
  ['gpg', /--(?:list-|fingerprint|verify)/u],
  ['dpkg', /-[lV]|--verify/u],
  ['kubectl', /\bget\s+(?:pods?|po|nodes?|events?|all|deploy\w*|rs|svc)\b/u],
]);
const hashFiles = new RegExp(
  [
    String.raw`(?:^|[/\s])(?:package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|`,
    String.raw`pnpm-lock\.yaml|bun\.lockb?|Cargo\.lock|go\.sum|poetry\.lock|uv\.lock|`,
    String.raw`Pipfile\.lock|composer\.lock|Gemfile\.lock|flake\.lock|mix\.lock|`,
    String.raw`packages\.lock\.json|[\w./-]*(?:SHASUMS?\d*|\.sha\d+|\.md5|checksums?\.txt|`,
    String.raw`\.map|\.min\.js|\.crt|\.cer))(?:["'\s;|&)]|$)`,
  ].join(''),
  'iu',
);
/** Words before the program: `sudo -E`, `FOO=1`, `time`. */
const wrapper = new RegExp(
  [
    String.raw`^(?:sudo|doas|time|nohup|command|exec|env(?=\s+[\w]+=)|nice|stdbuf|xargs|watch|`,
    String.raw`timeout|then|do|else|if|while|!|\(|\{|\w+=\S*|-\w+|\d+[smh]?)$`,
  ].join(''),
  'u',
);

/**
 * @param command text for a shell; in a pipeline the last part decides, unless one before it reads
 *   secrets: `secrets` overrides `hashes`
 */
export function secretPriorOf(command: string): SecretPrior {
  let prior: SecretPrior = 'none';
  for (const list of command.slice(0, 16_384).split(/&&|\|\||;|\n/u)) {
    const parts = list.split('|');
    for (const [at, part] of parts.entries()) {
      const found = priorOfPart(part.trim());
      if (found === 'secrets' && !endsInHash(parts.slice(at + 1))) return 'secrets';
      if (found === 'hashes') prior = 'hashes';
    }
  }
  return prior;
}

/** A secret that is hashed is no secret afterwards. */
function endsInHash(rest: readonly string[]): boolean {
  return rest.some((part) => /^\s*(?:sha\d*sum|shasum|md5sum|b2sum|cksum|wc)\b/u.test(part));
}

function priorOfPart(part: string): SecretPrior {
  const words = part.split(/\s+/u);
  let at = 0;
  while (at < words.length - 1 && wrapper.test(words[at] ?? '')) at++;
  const program = (words[at] ?? '')
    .replace(/^.*[/\\]/u, '')
    .replace(/\.exe$/u, '')
    .toLowerCase();
  const rest = words.slice(at + 1).join(' ');
  if (printsSecrets.get(program)?.test(rest) === true) return 'secrets';
  if (reading.test(program) && secretFiles.test(` ${rest}`)) return 'secrets';
  if (printsHashes.get(program)?.test(rest) === true) return 'hashes';
  return reading.test(program) && hashFiles.test(` ${rest}`) ? 'hashes' : 'none';
}

/** The command of a text that begins with a prompt: `$ cat .env`, `root@host:~# env`. */
export function readPromptCommand(line: string): string | null {
  const match = new RegExp(
    [
      String.raw`^(?:[\w.-]{1,32}@[\w.-]{1,64}[: ]\S{0,128} ?|\[[^\]]{1,64}\] ?|`,
      String.raw`\([\w.-]{1,32}\) ?)?[$#%❯>] (\S.*)$`,
    ].join(''),
    'u',
  ).exec(line.slice(0, 1024));
  return match?.[1] ?? null;
}
