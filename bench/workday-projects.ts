/**
 * Six projects with the sources of real packages, and a day's commands in each. What a line begins
 * with: `net:` it may use the network; `exit:` its output differs from run to run (times, order).
 */
import { everyday, type Edited } from './workday-everyday.ts';

export interface Project {
  readonly name: string;
  /** Programs without which it is left out. */
  readonly needs: readonly string[];
  /** A script of bash that lays it out in the current directory, with the network. */
  readonly setup: string;
  readonly lines: readonly string[];
  /** After a new start of everything: with what was fetched before, without the network. */
  readonly again: readonly string[];
}

/** As the project itself names its parts. */
const [zod, dist] = ['../src-zod/v4/index.js', './dist/v4/index.js'];

const repository = String.raw`
git init -q -b main .
git config user.name w; git config user.email w@example.org
git add -A; git commit -qm first`;

const lines = (text: string): string[] => text.trim().split('\n');

function project({
  name,
  needs = [],
  setup,
  edited,
  day,
  again,
}: Omit<Project, 'lines' | 'again' | 'needs'> & {
  readonly needs?: readonly string[];
  readonly edited: Edited;
  readonly day: string;
  readonly again: string;
}): Project {
  const all = [...everyday(edited), ...lines(day)];
  return { name, needs, setup: `set -e\n${setup}${repository}`, lines: all, again: lines(again) };
}

export const projects: readonly Project[] = [
  project({
    name: 'typescript',
    needs: ['node', 'npm'],
    setup: String.raw`
npm pack zod@4.0.17 --silent >/dev/null
tar xzof zod-*.tgz --strip-components=2 package/src
rm zod-*.tgz; mkdir src-zod; mv v3 v4 v4-mini index.ts src-zod/ 2>/dev/null || true
find . -name tests -prune -exec rm -rf {} +
rm -rf mini
cat >package.json <<'E'
{"name":"app","version":"1.0.0","type":"module","private":true,
 "scripts":{"build":"tsc -p .","test":"vitest run --reporter=dot","format":"prettier --check test"}}
E
cat >tsconfig.json <<'E'
{"compilerOptions":{"target":"es2022","module":"nodenext","outDir":"dist","strict":true,
 "skipLibCheck":true,"types":[]},"include":["src-zod/v4/**/*.ts"]}
E
mkdir test
cat >test/own.test.ts <<'E'
import { expect, test } from "vitest";
import * as z from "${zod}";

test("parses", () => {
  expect(z.object({ a: z.string() }).parse({ a: "x" })).toEqual({ a: "x" });
});
E
printf 'node_modules/\ndist/\n' >.gitignore`,
    edited: {
      file: 'src-zod/v4/core/util.ts',
      directory: 'src-zod',
      word: 'export',
      comment: '// edited',
    },
    day: String.raw`
net:npm install --no-audit --silent --save-dev typescript@5.8 vitest@2 prettier@3; echo $?
git status --short
ls node_modules | wc -l
npx tsc --version
exit:npm run build >/dev/null 2>&1
ls dist | head -3
exit:npx vitest run
npm run format --silent
npx prettier --write test >/dev/null; git diff --stat
node -e 'import("${dist}").then((z) => console.log(z.string().parse("x")))'
rm -rf dist; ls dist 2>/dev/null || echo none
npm ls --depth=0 --silent | wc -l
npm pkg set description=day && npm pkg get description
git add -A && git commit -qm 'Add tools' && git status --short | wc -l
rm -rf node_modules; ls node_modules 2>/dev/null | wc -l`,
    again: String.raw`
npm ci --offline --no-audit --silent; echo $?
ls node_modules | wc -l
exit:npm test`,
  }),
  project({
    name: 'python',
    needs: ['python3', 'pip'],
    setup: String.raw`
pip download -q --no-deps --no-binary :all: -d . pluggy==1.5.0 2>/dev/null
tar xzof pluggy-*.tar.gz --strip-components=1; rm pluggy-*.tar.gz
printf '.venv/\n__pycache__/\n*.egg-info/\nbuild/\n.pytest_cache/\n' >.gitignore`,
    edited: { file: 'src/pluggy/_hooks.py', directory: 'src', word: 'def ', comment: '# edited' },
    day: String.raw`
python3 -m venv .venv && ls .venv/bin | grep -c python
. .venv/bin/activate
net:pip install -q pytest==8.3.4 black==24.10.0 setuptools setuptools-scm wheel; echo $?
export SETUPTOOLS_SCM_PRETEND_VERSION=1.5.0
pip install -q --no-build-isolation -e . 2>/dev/null; echo $?
exit:pytest -q testing
python -c 'import pluggy; print(pluggy.__version__)'
black -q --check src; echo $?
black -q src/pluggy/_hooks.py; git diff --shortstat
git checkout -q -- src && git status --short
python -m compileall -q src && find src -name '*.pyc' | wc -l
find . -name __pycache__ -prune -exec rm -rf {} +
pip list 2>/dev/null | wc -l
python - <<< 'import sys; print(sys.prefix.endswith(".venv"))'
rm -rf .venv; ls -d .venv 2>/dev/null || echo none`,
    again: String.raw`
python3 -m venv .venv && .venv/bin/pip --version | cut -c1-4
ls ~/.cache/pip | wc -l`,
  }),
  project({
    name: 'rust',
    needs: ['cargo'],
    setup: String.raw`
export CARGO_HOME=$PWD/.fetch
cargo init -q --vcs none --name fetch fetch
(cd fetch && cargo add -q semver@=1.0.26 && cargo fetch -q)
cp -r .fetch/registry/src/*/semver-1.0.26/. .
rm -rf fetch .fetch benches Cargo.toml.orig Cargo.lock
chmod -R u+w .
cat >Cargo.toml <<'E'
[package]
name = "semver"
version = "1.0.26"
edition = "2021"
[features]
default = ["std"]
std = []
E
printf 'target/\n' >.gitignore`,
    edited: { file: 'src/lib.rs', directory: 'src', word: 'fn ', comment: '// edited' },
    day: String.raw`
exit:cargo build --offline
ls target/debug/*.rlib | wc -l
exit:cargo test --offline
touch src/lib.rs && cargo build --offline 2>&1 | grep -c Compiling
cargo build --offline 2>&1 | grep -c Compiling; true
exit:cargo fmt --check
net:cargo add -q itoa@1.0.15 && cargo fetch -q; echo $?
exit:cargo build --offline
grep -c itoa Cargo.toml
git diff --stat | tail -1
git add -A && git commit -qm 'Add itoa' && git log -1 --format=%s
exit:cargo build --release --offline
cargo tree --offline | wc -l
exit:cargo doc --offline --no-deps
du -s target >/dev/null && echo measured
cargo clean -q; ls -d target 2>/dev/null || echo none`,
    again: String.raw`
exit:cargo build --offline
ls target/debug/*.rlib | wc -l`,
  }),
  project({
    name: 'go',
    needs: ['go'],
    setup: String.raw`
export GOPATH=$PWD/.fetch GOFLAGS=-modcacherw
dir=$(go mod download -json github.com/spf13/pflag@v1.0.5 | sed -n 's/.*"Dir": "\(.*\)",/\1/p')
cp -r "$dir"/. . && rm -rf .fetch && chmod -R u+w .
cat >go.mod <<'E'
module github.com/spf13/pflag

go 1.21
E
mkdir -p cmd/app
cat >cmd/app/main.go <<'E'
package main

import (
	"fmt"

	"github.com/spf13/pflag"
)

func main() {
	n := pflag.Int("n", 3, "how many")
	pflag.Parse()
	fmt.Println("n is", *n)
}
E
printf 'app\n' >.gitignore`,
    edited: { file: 'flag.go', directory: '.', word: 'func ', comment: '// edited' },
    day: String.raw`
export GOFLAGS=-modcacherw
go version | cut -d' ' -f1,2
go build ./... && echo built
go build -o app ./cmd/app && ./app --n 5
exit:go vet ./...
exit:go test ./...
go test -run 'TestBool' . >/dev/null && echo passed
gofmt -l . | wc -l
go list ./... | wc -l
net:go get golang.org/x/text@v0.21.0 2>/dev/null; echo $?
net:go mod tidy 2>/dev/null; echo $?
git status --short
go env GOMODCACHE | grep -c mod
go run ./cmd/app
sed -i 's/how many/how many of them/' cmd/app/main.go && go run ./cmd/app --help 2>&1 | grep -c them
git commit -qam 'Say of what' && git log -1 --format=%s
rm -f app; ls app 2>/dev/null || echo none`,
    again: String.raw`
go build ./... && echo built
go run ./cmd/app`,
  }),
  project({
    name: 'c',
    needs: ['cargo', 'cc', 'make'],
    setup: String.raw`
export CARGO_HOME=$PWD/.fetch
cargo init -q --vcs none --name fetch fetch
(cd fetch && cargo add -q libz-sys@=1.1.31 && cargo fetch -q)
cp -r .fetch/registry/src/*/libz-sys-1.1.31/src/zlib/. . && rm -rf fetch .fetch && chmod -R u+w .
cat >Makefile <<'E'
CFLAGS = -O1 -D_LARGEFILE64_SOURCE=1 -DHAVE_UNISTD_H
OBJS = $(patsubst %.c,%.o,$(wildcard *.c))
all: libz.a example
libz.a: $(filter-out example.o,$(OBJS))
	$(AR) rcs $@ $^
example: example.o libz.a
	$(CC) -o $@ $^
test: example
	./example
clean:
	rm -f *.o libz.a example
E
cat >example.c <<'E'
#include <stdio.h>
#include <string.h>
#include "zlib.h"
int main(void) {
  unsigned char out[100], back[100];
  uLongf n = sizeof out, m = sizeof back;
  if (compress(out, &n, (const Bytef *)"hello hello hello", 18) != Z_OK) return 1;
  if (uncompress(back, &m, out, n) != Z_OK) return 2;
  printf("%s\n", (char *)back);
  return 0;
}
E
printf '*.o\nlibz.a\nexample\n' >.gitignore`,
    edited: { file: 'deflate.c', directory: '.', word: 'return', comment: '/* edited */' },
    day: String.raw`
make -s && echo made
make test | tail -1
make -s; make | tail -1
touch inflate.c && make 2>&1 | grep -c inflate.o
ar t libz.a | wc -l
nm libz.a 2>/dev/null | grep -c ' T deflate'
make clean >/dev/null && ls *.o 2>/dev/null | wc -l
make -s -j4 CFLAGS='-O2 -g -DHAVE_UNISTD_H' && ./example
size example >/dev/null && echo sized
cc -Wall -fsyntax-only adler32.c; echo $?
cc -E zutil.h >/tmp/z.i && test -s /tmp/z.i && echo preprocessed
cat >probe.c <<< 'int main(void){return 7;}' && cc -o probe probe.c && ./probe; echo $?
rm -f probe probe.c
objdump -d example | grep -c '<main>:'
git clean -fdxq && git status --short | wc -l
make -s && rm -rf *.o && make -s 2>&1 | wc -l
strace -V >/dev/null 2>&1; true`,
    again: String.raw`
make -s && ./example`,
  }),
  project({
    name: 'monorepo',
    needs: ['node', 'npm'],
    setup: String.raw`
mkdir packages
for one in @mui/icons-material@5.18.0 date-fns@3.6.0 rxjs@7.8.2; do
  file=$(npm pack "$one" --silent | tail -1)
  dir=packages/$(echo "$file" | sed 's/-[0-9.]*\.tgz//')
  mkdir -p "$dir" && tar xzof "$file" --strip-components=1 -C "$dir" && rm "$file"
done
cat >package.json <<'E'
{"name":"mono","private":true,"workspaces":["packages/rxjs","packages/date-fns"]}
E
printf 'node_modules/\n' >.gitignore`,
    edited: {
      file: 'packages/rxjs/src/index.ts',
      directory: 'packages/rxjs/src',
      word: 'export',
      comment: '// edited',
    },
    day: String.raw`
git ls-files | wc -l
git status --short | wc -l
grep -rl createSvgIcon packages/mui-icons-material --include='Abc*.js' | sort
find packages -name package.json | wc -l
grep -rc version packages/date-fns/package.json
sed -i 's/"use strict";/"use strict"; \/\/ edited/' packages/mui-icons-material/A*.js
git diff --shortstat
git stash -q && git status --short | wc -l && git stash pop -q
git commit -qam 'Edit many' && git show --stat --format=%s | tail -1
rm -rf packages/date-fns && git status --short | wc -l
git checkout -q -- packages/date-fns && git status --short | wc -l
mkdir -p packages/new/src && ls packages/new/src | wc -l
for n in $(seq 200); do echo "export const n$n = $n;" >packages/new/src/f$n.ts; done
git add -A && git commit -qm 'Add new' && git log -1 --format=%s
git mv packages/new packages/newer && git status --short | head -1
git reset -q --hard && ls -d packages/new
node -e 'console.log(require("./packages/rxjs").of(1) !== null)'
node -p 'require("./packages/date-fns").addDays(new Date(0), 1).toISOString()'
npm ls --silent 2>/dev/null | wc -l
git log --stat --format=%s -1 | tail -1
git grep -c createSvgIcon -- packages/mui-icons-material/Ab*.js | wc -l
git branch topic && git checkout -q topic && git checkout -q main && git branch -D topic | wc -l
find packages/newer 2>/dev/null | wc -l
git gc -q; git count-objects | cut -d' ' -f1`,
    again: String.raw`
git status --short | wc -l
git ls-files | wc -l`,
  }),
];
