// Programs that people use, through the bridge to servers of this test, with no proxy variable and
// no configuration of the network inside; each once on a host of the rules and once on another.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer as createHttp, type RequestListener } from 'node:http';
import { createServer as createHttps } from 'node:https';
import type { Server } from 'node:net';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { onHost, openBox, temporary, whyNoBox, type OpenBox } from './support/box.ts';

const skip = whyNoBox;
const allowed = 'good.test';
const other = 'bad.test';
const answer = 'text of the server';

/** What a program is asked to do with a base URL; it prints {@link answer} where it got there. */
interface Program {
  /** What must be there, by its name. */
  readonly needs: string;
  readonly scheme: 'http' | 'https';
  readonly script: (base: string) => string;
}

/** Lines of a script, of which each goes on only if those before it did well. */
const steps = (...lines: readonly string[]): string => `(${lines.join(' && ')})`;

const node = (name: string): Program => ({
  needs: name,
  scheme: 'https',
  script: (base) => {
    const text = `fetch('${base}/text').then((r) => r.text()).then(console.log)`;
    return `NODE_EXTRA_CA_CERTS=$CA ${name} -e "${text}"`;
  },
});

const javaSource = (base: string): string => `
import java.net.*; import java.net.http.*;
public class T { public static void main(String[] a) throws Exception {
  var request = HttpRequest.newBuilder(URI.create("${base}/text")).build();
  var text = HttpResponse.BodyHandlers.ofString();
  System.out.println(HttpClient.newHttpClient().send(request, text).body());
} }`;

const pip = '/usr/bin/python3 -m pip download -q --disable-pip-version-check --retries 0 --no-deps';
const chromiumFlags =
  '--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir=$W/chrome';

const programs: Readonly<Record<string, Program>> = {
  curl: { needs: 'curl', scheme: 'https', script: (base) => `curl -sS --cacert $CA ${base}/text` },
  'curl, HTTP/1.1 without TLS': {
    needs: 'curl',
    scheme: 'http',
    script: (base) => `curl -sS ${base}/text -d x=1`,
  },
  wget: {
    needs: 'wget',
    scheme: 'https',
    script: (base) => `wget -qO- --ca-certificate=$CA ${base}/text`,
  },
  'Node of the system': node('/usr/bin/node'),
  'Python urllib': {
    needs: '/usr/bin/python3',
    scheme: 'https',
    script: (base) => {
      const text = `import urllib.request as u; print(u.urlopen('${base}/text').read().decode())`;
      return `SSL_CERT_FILE=$CA /usr/bin/python3 -c "${text}"`;
    },
  },
  'Perl HTTP::Tiny': {
    needs: 'perl',
    scheme: 'http',
    script: (base) =>
      `perl -MHTTP::Tiny -e 'print HTTP::Tiny->new->get("${base}/text")->{content}'`,
  },
  'git over https': {
    needs: 'git',
    scheme: 'https',
    script: (base) =>
      steps(
        'rm -rf $W/clone',
        `git -c http.sslCAInfo=$CA clone -q ${base}/repo.git $W/clone`,
        'cat $W/clone/file',
      ),
  },
  npm: {
    needs: 'npm',
    scheme: 'https',
    script: (base) =>
      steps(
        'rm -rf $W/n; mkdir -p $W/n; cd $W/n',
        'npm init -y >/dev/null',
        `npm i --fetch-retries 0 --cafile $CA --registry ${base}/npm tiny-of-test >/dev/null`,
        `node -p "require('tiny-of-test')"`,
      ),
  },
  pip: {
    needs: '/usr/bin/python3',
    scheme: 'https',
    script: (base) =>
      steps(
        'rm -rf $W/p',
        `${pip} --cert $CA -i ${base}/pypi -d $W/p tiny_of_test`,
        'unzip -p $W/p/*.whl tiny_of_test.py',
      ),
  },
  'apt, without its installer': {
    needs: '/usr/lib/apt/methods/http',
    scheme: 'http',
    script: (base) => {
      const asked = `printf '600 URI Acquire\\nURI: ${base}/text\\nFilename: %s\\n\\n' $W/apt`;
      const wait = 'for i in 1 2 3 4 5 6 7 8 9 10; do [ -s $W/apt ] && break; sleep 0.2; done';
      const method = 'timeout 20 /usr/lib/apt/methods/http >/dev/null';
      return `rm -f $W/apt; (${asked}; ${wait}) | ${method}; cat $W/apt`;
    },
  },
  'Java HttpClient': {
    needs: 'java',
    scheme: 'http',
    script: (base) => `echo '${javaSource(base)}' > $W/T.java; java $W/T.java`,
  },
  'headless Chromium': {
    needs: '/usr/lib/chromium/chromium',
    scheme: 'http',
    script: (base) =>
      `timeout 60 /usr/lib/chromium/chromium ${chromiumFlags} --dump-dom ${base}/text 2>/dev/null`,
  },
};

/** Every file of the server by its path. */
function contents(dir: string): ReadonlyMap<string, Buffer | string> {
  const files = new Map<string, Buffer | string>([['/text', `${answer}\n`]]);
  onHost(
    `git init -q repo && cd repo && echo '${answer}' > file && git add . && git commit -qm one
     git clone -q --bare . ../repo.git && cd ../repo.git && git update-server-info`,
    dir,
  );
  const found = execFileSync('find', ['repo.git', '-type', 'f'], { cwd: dir, encoding: 'utf8' });
  for (const name of found.trim().split('\n')) {
    files.set(`/${name}`, readFileSync(path.join(dir, name)));
  }
  addNpmPackage(files, dir);
  addWheel(files, dir);
  return files;
}

function addNpmPackage(files: Map<string, Buffer | string>, dir: string): void {
  const name = 'tiny-of-test';
  mkdirSync(path.join(dir, 'package'));
  writeFileSync(path.join(dir, 'package/package.json'), JSON.stringify({ name, version: '1.0.0' }));
  writeFileSync(path.join(dir, 'package/index.js'), `module.exports = '${answer}';\n`);
  const packed = gzipSync(execFileSync('tar', ['-c', 'package'], { cwd: dir }));
  const integrity = `sha512-${createHash('sha512').update(packed).digest('base64')}`;
  const dist = { tarball: `https://${allowed}/npm/${name}.tgz`, integrity };
  const versions = { '1.0.0': { name, version: '1.0.0', dist } };
  files.set(`/npm/${name}`, JSON.stringify({ name, 'dist-tags': { latest: '1.0.0' }, versions }));
  files.set(`/npm/${name}.tgz`, packed);
}

function addWheel(files: Map<string, Buffer | string>, dir: string): void {
  const file = 'tiny_of_test-1.0-py3-none-any.whl';
  const script = `
import zipfile
with zipfile.ZipFile('${file}', 'w') as z:
    z.writestr('tiny_of_test.py', 'text = "${answer}"')
    info = 'tiny_of_test-1.0.dist-info/'
    z.writestr(info + 'METADATA', 'Metadata-Version: 2.1\\nName: tiny_of_test\\nVersion: 1.0\\n')
    z.writestr(info + 'WHEEL', 'Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
    z.writestr(info + 'RECORD', '')
`;
  const made = spawnSync('/usr/bin/python3', ['-c', script], { cwd: dir });
  if (made.status !== 0) return;
  files.set(`/pypi/tiny-of-test/`, `<a href="../../${file}">${file}</a>`);
  files.set(`/${file}`, readFileSync(path.join(dir, file)));
}

describe('programs', { skip, concurrency: 2 }, () => {
  const dir = temporary();
  const servers: Server[] = [];
  let box: OpenBox;

  before(async () => {
    const subject = `subjectAltName=DNS:${allowed},DNS:${other}`;
    const words =
      'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=t';
    const out = ['-keyout', `${dir.path}/key`, '-out', `${dir.path}/ca.pem`, '-addext', subject];
    execFileSync('openssl', [...words.split(' '), ...out], { stdio: 'ignore' });
    const [key, cert] = ['key', 'ca.pem'].map((name) => readFileSync(path.join(dir.path, name)));
    const files = contents(dir.path);
    const listener: RequestListener = (request, response) => {
      const file = files.get((request.url ?? '').split('?')[0] ?? '');
      const type = request.url?.startsWith('/npm/') ? 'application/json' : 'text/html';
      response.writeHead(file === undefined ? 404 : 200, { 'content-type': type });
      response.end(file);
    };
    servers.push(createHttp(listener), createHttps({ key, cert }, listener));
    const ports: number[] = [];
    for (const server of servers) {
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      ports.push(Number(Object(server.address())['port']));
    }
    const [http = 0, https = 0] = ports;
    // One name has one place: the scheme is told apart by the host.
    const connect = {
      [allowed]: `127.0.0.1:${https}`,
      [`plain.${allowed}`]: `127.0.0.1:${http}`,
    };
    box = await openBox({
      root: dir.path,
      network: 'hosts',
      egress: { allow: [allowed, `*.${allowed}`], connect },
    });
  });

  after(async () => {
    await box?.[Symbol.asyncDispose]();
    for (const server of servers) server.close();
    dir[Symbol.dispose]();
  });

  const urlOf = ({ scheme }: Program, host: string): string =>
    scheme === 'http' ? `http://plain.${host}` : `https://${host}`;

  for (const [name, program] of Object.entries(programs)) {
    test(`${name}: the host of a rule, and no other`, { timeout: 120_000 }, async (t) => {
      const env = { CA: `${dir.path}/ca.pem`, W: `/tmp/w` };
      const has = await box.run(`mkdir -p $W; command -v ${program.needs}`, { env });
      if (has.code !== 0) {
        t.skip(`${program.needs} is not there`);
        return;
      }
      const good = await box.run(program.script(urlOf(program, allowed)), { env });
      assert.match(good.stdout, new RegExp(answer), `${good.stderr}${good.stdout}`);
      const bad = await box.run(program.script(urlOf(program, other)), { env });
      assert.doesNotMatch(bad.stdout, new RegExp(answer));
    });
  }
});
