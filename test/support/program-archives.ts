/** One small package in the forms of several registries, made on this machine. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { onHost } from './box.ts';

/** What every program of the tests prints where it has reached its server. */
export const programAnswer = 'text of the server';

/** Some contents name the URL that they are served at, as `https://host/prefix`. */
export type ServedFile = Buffer | string | ((base: string) => string);

const wheelName = 'tiny_of_test-1.0-py3-none-any.whl';
/** Of the downloads that some of the programs make by themselves: a wheel, a Go module. */
const pythonScript = `
import zipfile
text = '${programAnswer}'
with zipfile.ZipFile('${wheelName}', 'w') as z:
    z.writestr('tiny_of_test.py', f'text = "{text}"')
    info = 'tiny_of_test-1.0.dist-info/'
    z.writestr(info + 'METADATA', 'Metadata-Version: 2.1\\nName: tiny_of_test\\nVersion: 1.0\\n')
    z.writestr(info + 'WHEEL', 'Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
    z.writestr(info + 'RECORD', 'tiny_of_test.py,,\\n' + info + 'RECORD,,\\n')
with zipfile.ZipFile('module.zip', 'w') as z:
    z.writestr('tiny.test/m@v1.0.0/go.mod', 'module tiny.test/m\\n')
    z.writestr('tiny.test/m@v1.0.0/text', text)
with zipfile.ZipFile('tiny.jar', 'w') as z:
    z.writestr('text', text)
`;

const script = `
git init -q work && echo '${programAnswer}' > work/file
mkdir work/src && touch work/src/lib.rs
printf '[package]\\nname = "tiny-of-git"\\nversion = "1.0.0"\\n' > work/Cargo.toml
git -C work add . && git -C work commit -qm one && git clone -q --bare work git/repo.git
git -C git/repo.git config http.receivepack true
mkdir -p package tiny-of-test-1.0.0/src deb/DEBIAN
echo '{"name":"tiny-of-test","version":"1.0.0"}' > package/package.json
echo "module.exports = '${programAnswer}';" > package/index.js
tar -czf tiny.tgz package
printf '[package]\\nname = "tiny-of-test"\\nversion = "1.0.0"\\n' > tiny-of-test-1.0.0/Cargo.toml
echo '// ${programAnswer}' > tiny-of-test-1.0.0/src/lib.rs
tar -czf tiny.crate tiny-of-test-1.0.0
if command -v dpkg-deb >/dev/null; then
  printf 'Package: tiny-of-test\\nVersion: 1.0\\nArchitecture: all\\n' > control
  printf 'Maintainer: t <t@t>\\n' >> control
  cp control deb/DEBIAN/control
  echo 'Description: ${programAnswer}' >> deb/DEBIAN/control
  dpkg-deb -Zgzip --root-owner-group -b deb tiny.deb >/dev/null
fi
[ ! -x /usr/bin/python3 ] || /usr/bin/python3 make.py
`;

/** Every file by its path below the prefix of its URL. @param dir where they are made */
export function programArchives(dir: string): ReadonlyMap<string, ServedFile> {
  onHost(`mkdir git; cat > make.py <<'END'\n${pythonScript}\nEND\n${script}`, dir);
  const files = new Map<string, ServedFile>([
    ['/text', `${programAnswer}\n`],
    // Loaded once its WebSocket has been closed.
    [
      '/socket.html',
      (base) => `<body><script>
        const socket = new WebSocket('${base.replace('https:', 'wss:')}/socket');
        socket.onopen = () => socket.send('hello');
        socket.onmessage = ({ data }) => {
          document.body.append(data);
          if (data !== 'hello') socket.close();
        };
      </script><script src="${base}/wait"></script>`,
    ],
    ['/large', `${'0123456789abcdef'.repeat(512 * 1024)}\n${programAnswer}\n`],
  ]);
  const made = (name: string): Buffer => readFileSync(path.join(dir, name));
  addNpm(files, made('tiny.tgz'));
  addCrate(files, made('tiny.crate'));
  if (existsSync(path.join(dir, wheelName))) {
    addPython(files, made(wheelName));
    addGo(files, made('module.zip'));
    addMaven(files, made('tiny.jar'));
  }
  if (readdirSync(dir).includes('tiny.deb')) addDebian(files, made('tiny.deb'));
  return files;
}

type Files = Map<string, ServedFile>;

const digestOf = (bytes: Buffer, kind: string, as: 'hex' | 'base64' = 'hex'): string =>
  createHash(kind).update(bytes).digest(as);

function addNpm(files: Files, archive: Buffer): void {
  const name = 'tiny-of-test';
  const integrity = `sha512-${digestOf(archive, 'sha512', 'base64')}`;
  files.set(`/npm/${name}`, (base) => {
    const dist = { tarball: `${base}/npm/${name}/-/${name}-1.0.0.tgz`, integrity };
    const versions = { '1.0.0': { name, version: '1.0.0', dist } };
    return JSON.stringify({ name, 'dist-tags': { latest: '1.0.0' }, versions });
  });
  files.set(`/npm/${name}/-/${name}-1.0.0.tgz`, archive);
}

function addCrate(files: Files, archive: Buffer): void {
  const name = 'tiny-of-test';
  const cksum = digestOf(archive, 'sha256');
  const entry = { name, vers: '1.0.0', deps: [], cksum, features: {}, yanked: false };
  files.set('/cargo/config.json', (base) => JSON.stringify({ dl: `${base}/crates`, api: base }));
  files.set(`/cargo/ti/ny/${name}`, `${JSON.stringify(entry)}\n`);
  files.set(`/crates/${name}/1.0.0/download`, archive);
}

function addPython(files: Files, wheel: Buffer): void {
  files.set('/pypi/tiny-of-test/', `<a href="../../${wheelName}">${wheelName}</a>`);
  files.set(`/${wheelName}`, wheel);
}

function addGo(files: Files, module: Buffer): void {
  const at = '/go/tiny.test/m/@v/v1.0.0';
  files.set(`${at}.info`, '{"Version":"v1.0.0"}');
  files.set(`${at}.mod`, 'module tiny.test/m\n');
  files.set(`${at}.zip`, module);
}

function addMaven(files: Files, jar: Buffer): void {
  const at = '/maven/test/tiny/1.0/tiny-1.0';
  const names = '<groupId>test</groupId><artifactId>tiny</artifactId><version>1.0</version>';
  files.set(`${at}.pom`, `<project><modelVersion>4.0.0</modelVersion>${names}</project>`);
  files.set(`${at}.jar`, jar);
}

function addDebian(files: Files, archive: Buffer): void {
  const fields = {
    Package: 'tiny-of-test',
    Version: '1.0',
    Architecture: 'all',
    Maintainer: 't <t@t>',
    Filename: 'apt/tiny.deb',
    Size: archive.length,
    SHA256: digestOf(archive, 'sha256'),
    Description: 'of a test',
  };
  const lines = Object.entries(fields).map(([key, value]) => `${key}: ${value}\n`);
  files.set('/apt/Packages', lines.join(''));
  files.set('/apt/tiny.deb', archive);
}
