/**
 * Programs that people use, and what each does with a host: it prints `programAnswer` where it got
 * there. None of them is configured for the sandbox: no proxy, no certificate, no address.
 */
/** What a program is for: the host's name, and a path below which everything is. */
export interface ProgramTarget {
  readonly host: string;
  /** `https://host/prefix` */
  readonly base: string;
  readonly prefix: string;
}

export interface NetworkProgram {
  /** A program by its name, or a file, without which it is skipped. */
  readonly needs: string;
  /** Packages of a registry, in `$T`; absent: machines have it. */
  readonly from?: {
    readonly npm?: readonly string[];
    readonly pip?: readonly string[];
    readonly deb?: readonly string[];
    readonly maven?: readonly string[];
  };
  /** Default: `https`. */
  readonly scheme?: 'https' | 'http' | 'ssh';
  /**
   * Bash. `$W`: an empty directory of its own. `$T`: what was fetched. `$D`: the test's directory.
   * `$NODE`: the project's Node.
   */
  readonly script: (target: ProgramTarget) => string;
}

/** Lines of a script, of which each goes on only if those before it did well. */
export const steps = (...lines: readonly string[]): string => lines.join(' &&\n');

/** What is fetched stands in these. */
export const fetched = { npm: '$T/npm', pip: '$T/pip', deb: '$T/deb', maven: '$T/maven' } as const;
export const systemPython = '/usr/bin/python3';

export const python = (source: string): string =>
  `PYTHONPATH=${fetched.pip} ${systemPython} - <<'END'\n${source}\nEND`;
/** Packages are those that were fetched, if any were. */
export const nodeProgram = (program: string, source: string): string =>
  `cd $T/npm 2>/dev/null; ${program} --input-type=module - <<'END'\n${source}\nEND`;

const systemNode = '/usr/bin/node';
const nodes = { 'Node of the system': systemNode, 'Node of the project': '$NODE' } as const;

export type Programs = Readonly<Record<string, NetworkProgram>>;

/** The same with each Node. */
export const ofNodes = (
  name: string,
  program: (node: string) => Omit<NetworkProgram, 'needs'>,
): Programs =>
  Object.fromEntries(
    Object.entries(nodes).map(([which, node]) => [
      `${which}: ${name}`,
      { needs: node, ...program(node) },
    ]),
  );

const curl = (words: string, path = 'text'): NetworkProgram => ({
  needs: 'curl',
  script: ({ base }) => `curl -sS -m 60 -f ${words} ${base}/${path}`,
});

const megabytes = 'head -c 8000000 /dev/zero > $W/body';
const git = { needs: 'git' } as const;
const clone = (base: string): string => `git clone -q ${base}/git/repo.git $W/clone`;
const push = (base: string, postBuffer: number): string =>
  steps(
    clone(base),
    'cd $W/clone',
    'head -c 300000 /dev/urandom > large',
    'git add .',
    'git commit -qm two',
    `git -c http.postBuffer=${postBuffer} push -q origin HEAD:refs/heads/$RANDOM`,
    'cat file',
  );

const java = (program: string): NetworkProgram => ({
  needs: program,
  script: ({ base }) => `${program} -cp $D/classes FetchText ${base}/text`,
});

/** Compiled once, on the host. */
export const javaSource = `
import java.net.*; import java.net.http.*;
public class FetchText { public static void main(String[] words) throws Exception {
  var request = HttpRequest.newBuilder(URI.create(words[0])).build();
  var text = HttpResponse.BodyHandlers.ofString();
  var answer = HttpClient.newHttpClient().send(request, text);
  if (answer.statusCode() != 200) System.exit(1);
  try (var plain = URI.create(words[0]).toURL().openStream()) {
    if (!answer.body().equals(new String(plain.readAllBytes()))) System.exit(2);
  }
  System.out.println(answer.body());
} }`;

export const npmProject = `cd $W && echo '{"name":"p","version":"1.0.0"}' > package.json`;
export const npmRequire = `node -p "require('tiny-of-test')"`;

/** Whatever a machine of developers has. */
export const usualPrograms: Programs = {
  curl: curl(''),
  'curl, HTTP/1.1': curl('--http1.1'),
  'curl, 8 MB down': {
    needs: 'curl',
    script: ({ base }) => `curl -sS -m 60 -f ${base}/large | tail -1`,
  },
  'curl, 8 MB up': {
    needs: 'curl',
    script: ({ base }) => `${megabytes}; curl -sS -m 60 -f --data-binary @$W/body ${base}/count`,
  },
  'curl, 8 MB up with Expect: 100-continue': {
    needs: 'curl',
    script: ({ base }) =>
      `${megabytes}; curl -sS -m 60 -f --http1.1 --expect100-timeout 30 -T $W/body ${base}/count`,
  },
  'curl, without TLS': { ...curl(''), scheme: 'http' },
  wget: { needs: 'wget', script: ({ base }) => `wget -qO- --tries=1 ${base}/text` },
  ...ofNodes('fetch', (node) => ({
    script: ({ base }) =>
      nodeProgram(
        node,
        `const got = await fetch('${base}/text'); console.log(got.ok && await got.text());`,
      ),
  })),
  'Node of the system: https': {
    needs: systemNode,
    script: ({ base }) =>
      nodeProgram(
        systemNode,
        `import https from 'node:https';
         https.get('${base}/text', (got) => got.pipe(process.stdout));`,
      ),
  },
  'Python urllib': {
    needs: systemPython,
    script: ({ base }) =>
      python(`import urllib.request as u; print(u.urlopen('${base}/text').read().decode())`),
  },
  'Perl HTTP::Tiny': {
    needs: 'perl',
    scheme: 'http',
    script: ({ base }) =>
      `perl -MHTTP::Tiny -e 'print HTTP::Tiny->new->get("${base}/text")->{content}'`,
  },
  'git over https': { ...git, script: ({ base }) => steps(clone(base), 'cat $W/clone/file') },
  'git over https, push': { ...git, script: ({ base }) => push(base, 1_000_000) },
  'git over https, push in chunks': { ...git, script: ({ base }) => push(base, 70_000) },
  go: {
    needs: 'go',
    script: ({ base }) =>
      steps(
        'cd $W',
        'export GOPATH=$W/go GOFLAGS=-modcacherw GOTOOLCHAIN=local GOSUMDB=off',
        `GOPROXY=${base}/go go mod download tiny.test/m@v1.0.0`,
        'cat go/pkg/mod/tiny.test/m@v1.0.0/text',
      ),
  },
  cargo: {
    needs: 'cargo',
    script: ({ base }) =>
      steps(
        'mkdir -p $W/src && cd $W && touch src/lib.rs',
        `printf '[package]\\nname = "p"\\nversion = "1.0.0"\\n[dependencies]\\n' > Cargo.toml`,
        `echo 'tiny-of-test = { version = "1", registry = "t" }' >> Cargo.toml`,
        `export CARGO_HOME=$W/cargo CARGO_NET_RETRY=0`,
        `CARGO_REGISTRIES_T_INDEX=sparse+${base}/cargo/ cargo fetch -q`,
        'cat cargo/registry/src/*/tiny-of-test-1.0.0/src/lib.rs',
      ),
  },
  npm: {
    needs: 'npm',
    script: ({ base }) =>
      steps(
        npmProject,
        `npm i --fetch-retries 0 --cache $W/cache --registry ${base}/npm tiny-of-test >/dev/null`,
        npmRequire,
      ),
  },
  pip: {
    needs: systemPython,
    script: ({ base }) =>
      steps(
        `${systemPython} -m pip download -q --disable-pip-version-check --retries 0 --no-deps \\
           --no-cache-dir -i ${base}/pypi -d $W/p tiny_of_test`,
        'unzip -p $W/p/*.whl tiny_of_test.py',
      ),
  },
  'Java 17': java('java'),
  'Java of another JDK': java('/usr/lib/jvm/temurin-25-jdk-amd64/bin/java'),
};
