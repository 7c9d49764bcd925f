// Programs that people use, through the bridge to servers of this test, with no proxy variable and
// no configuration of the network or its certificates inside; each on a host that is passed through
// and on one whose requests are seen, and on a host and a request that no rule allows.
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
import { trustVariables } from '../src/network/trusted-certificates.ts';
import { onHost, openBox, temporary, whyNoBox, type OpenBox } from './support/box.ts';
import { fetchedPrograms, fetchPrograms } from './support/fetched-programs.ts';
import { isFull } from './support/form.ts';
import type { Program } from './support/program.ts';
import { openTlsAuthority } from './support/tls-authority.ts';

const skip = whyNoBox;
/** Passed through, seen, in no rule, and seen with a rule for another path. */
const hosts = { passed: 'good.test', seen: 'seen.test', other: 'bad.test', denied: 'part.test' };
const seenMethods = 'GET|HEAD|POST';
const answer = 'text of the server';

/** Lines of a script, of which each goes on only if those before it did well. */
const steps = (...lines: readonly string[]): string => `(${lines.join(' && ')})`;

const node = (name: string): Program => ({
  needs: name,
  scheme: 'https',
  script: (base) => {
    const text = `fetch('${base}/text').then((r) => r.text()).then(console.log)`;
    return `${name} -e "${text}"`;
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
  curl: { needs: 'curl', scheme: 'https', script: (base) => `curl -sS ${base}/text` },
  'curl, HTTP/1.1 without TLS': {
    needs: 'curl',
    scheme: 'http',
    script: (base) => `curl -sS ${base}/text -d x=1`,
  },
  wget: {
    needs: 'wget',
    scheme: 'https',
    script: (base) => `wget -qO- ${base}/text`,
  },
  'Node of the system': node('/usr/bin/node'),
  'Python urllib': {
    needs: '/usr/bin/python3',
    scheme: 'https',
    script: (base) => {
      const text = `import urllib.request as u; print(u.urlopen('${base}/text').read().decode())`;
      return `/usr/bin/python3 -c "${text}"`;
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
      steps('rm -rf $W/clone', `git clone -q ${base}/repo.git $W/clone`, 'cat $W/clone/file'),
  },
  npm: {
    needs: 'npm',
    scheme: 'https',
    script: (base) =>
      steps(
        'rm -rf $W/n; mkdir -p $W/n; cd $W/n',
        'npm init -y >/dev/null',
        `npm i --fetch-retries 0 --registry ${base}/npm tiny-of-test >/dev/null`,
        `node -p "require('tiny-of-test')"`,
      ),
  },
  pip: {
    needs: '/usr/bin/python3',
    scheme: 'https',
    script: (base) =>
      steps(
        'rm -rf $W/p',
        `${pip} -i ${base}/pypi -d $W/p tiny_of_test`,
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
    scheme: 'https',
    script: (base) => `echo '${javaSource(base)}' > $W/T.java; java $W/T.java`,
  },
  'headless Chromium': {
    needs: '/usr/lib/chromium/chromium',
    scheme: 'https',
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
  const dist = { tarball: `https://{host}/npm/${name}.tgz`, integrity };
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
    if (isFull) assert.equal(fetchPrograms(dir.path), '');
    const authority = openTlsAuthority(dir.path);
    const certified = authority.certify(Object.values(hosts));
    const files = contents(dir.path);
    const listener: RequestListener = (request, response) => {
      const file = files.get((request.url ?? '').split('?')[0] ?? '');
      const type = request.url?.startsWith('/npm/') ? 'application/json' : 'text/html';
      response.writeHead(file === undefined ? 404 : 200, { 'content-type': type });
      const isText = typeof file === 'string';
      response.end(isText ? file.replaceAll('{host}', request.headers.host ?? '') : file);
    };
    servers.push(createHttp(listener), createHttps(certified, listener));
    const ports: number[] = [];
    for (const server of servers) {
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      ports.push(Number(Object(server.address())['port']));
    }
    const [http = 0, https = 0] = ports;
    // One name has one place: the scheme is told apart by the host.
    const connect = Object.fromEntries(
      Object.values(hosts).flatMap((name) => [
        [name, `127.0.0.1:${https}`],
        [`plain.${name}`, `127.0.0.1:${http}`],
      ]),
    );
    const { passed, seen, denied } = hosts;
    const allow = [
      passed,
      `plain.${passed}`,
      `${seenMethods} ${seen}`,
      `${seenMethods} plain.${seen}`,
      `GET ${denied}/nothing`,
      `GET plain.${denied}/nothing`,
    ];
    const roots = [authority.root];
    box = await openBox({ root: dir.path, network: 'hosts', roots, egress: { allow, connect } });
  });

  after(async () => {
    await box?.[Symbol.asyncDispose]();
    for (const server of servers) server.close();
    dir[Symbol.dispose]();
  });

  const urlOf = ({ scheme }: Program, host: string): string =>
    scheme === 'http' ? `http://plain.${host}` : `https://${host}`;

  const all = { ...programs, ...(isFull ? fetchedPrograms : {}) };
  for (const [name, program] of Object.entries(all)) {
    test(`${name}: what a rule allows, and nothing else`, { timeout: 300_000 }, async (t) => {
      const env = { ...trustVariables, W: '/tmp/w', T: dir.path };
      const has = await box.run(`mkdir -p $W; command -v ${program.needs}`, { env });
      if (has.code !== 0) {
        t.skip(`${program.needs} is not there`);
        return;
      }
      for (const [way, host] of Object.entries(hosts)) {
        const got = await box.run(program.script(urlOf(program, host)), { env });
        const isAllowed = way === 'passed' || way === 'seen';
        const text = `${way}: ${got.stderr}${got.stdout}`;
        assert.equal(got.stdout.includes(answer), isAllowed, text);
      }
    });
  }
});
