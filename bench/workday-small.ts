/** Everyday commands of an agent at work in a small project, in their order. */

/** Puts the project into the current directory: nothing of it comes from a network. */
export const project = String.raw`set -e
git init -q -b main .
git config user.name w; git config user.email w@example.org
mkdir -p src test lib py c
cat >package.json <<'EOF'
{
  "name": "day",
  "version": "1.0.0",
  "scripts": { "build": "node build.js", "test": "node --test test/" }
}
EOF
cat >src/math.js <<'EOF'
exports.add = (a, b) => a + b;
exports.one = 1;
EOF
cat >test/math.test.js <<'EOF'
const { add } = require("../src/math.js");
require("node:test").test("adds", () => { if (add(1, 2) !== 3) throw new Error("no"); });
EOF
cat >build.js <<'EOF'
const fs = require("fs");
fs.mkdirSync("build", { recursive: true });
fs.copyFileSync("src/math.js", "build/math.js");
console.log("built");
EOF
cat >py/shapes.py <<'EOF'
def area(a, b):
    return a * b
EOF
cat >py/test_shapes.py <<'EOF'
import unittest
from shapes import area

class T(unittest.TestCase):
    def test_area(self):
        self.assertEqual(area(2, 3), 6)
EOF
cat >c/main.c <<'EOF'
#include <stdio.h>
int main(void) { puts("hello"); return 0; }
EOF
printf 'hello: main.c\n\tcc -o hello main.c\nclean:\n\trm -rf hello\n' >c/Makefile
printf 'build/\nnode_modules/\n__pycache__/\n.venv/\nc/hello\n' >.gitignore
seq 1 400 >lib/numbers.txt
printf 'A=1\nB=2\n' >.env.example
printf '# Day\n\nOne project.\n' >README.md
git add -A; git commit -qm first`;

const text = String.raw`echo hi
pwd | xargs basename
ls
ls -la src | wc -l
cat package.json
head -3 lib/numbers.txt
tail -2 lib/numbers.txt
sed -n 5,8p lib/numbers.txt
wc -l lib/numbers.txt
grep -rn one src
grep -c 1 lib/numbers.txt
find . -name '*.js' -not -path './.git/*' | sort
cat README.md | head -1
git status --short
git log --oneline | wc -l
git branch
git diff --stat
mkdir -p lib/util
echo 'exports.two = 2;' >lib/util/two.js
cat >>src/math.js <<'EOF'
exports.sub = (a, b) => a - b;
EOF
cat src/math.js
node -e 'console.log(require("./src/math.js").sub(3, 1))'
node --check src/math.js
sed -i 's/one = 1/one = 1.0/' src/math.js
git diff src/math.js | tail -n +5
npm test --silent >/dev/null 2>&1; echo $?
npm run build --silent
ls build
rm -rf build
ls build 2>/dev/null || echo gone
npm run --silent build && node -p 'require("./build/math.js").add(2, 2)'
git add -A
git status --short
git commit -qm 'Add sub' && git log -1 --format=%s
git checkout -q -b feature
printf 'exports.mul = (a, b) => a * b;\n' >>src/math.js
git stash -q && git stash list | wc -l
git stash pop -q && git diff --shortstat
git commit -qam 'Add mul'
git checkout -q main
git merge -q --no-edit feature && git log -1 --format=%s
git branch -d feature | wc -l
git tag v1 && git tag
git show --stat --format=%s HEAD | head -2
git blame -s src/math.js | wc -l
git reset -q --hard HEAD~1 && git log -1 --format=%s
git reset -q --hard ORIG_HEAD && git log -1 --format=%s
git clean -fdxq && git status --short | wc -l
cp .env.example settings && cat settings
mv settings lib/settings
rm lib/settings
touch a b c && rm a b c
chmod +x build.js && test -x build.js && echo yes
ln -s src link && ls link/ && rm link
export MODE=test
echo $MODE
env | grep -c '^MODE='
cd py && python3 -m unittest -q 2>&1 | tail -1
pwd | xargs basename
python3 -c 'from shapes import area; print(area(3, 4))'
printf '\ndef square(a):\n    return area(a, a)\n' >>shapes.py
python3 - <<'EOF'
import shapes
print(shapes.square(5))
EOF
python3 -c 'import os, sys; print(len(sys.argv), os.path.basename(os.getcwd()))'
python3 -m venv .venv && .venv/bin/python -c 'print("in a venv")'
. .venv/bin/activate && python -c 'import sys; print(sys.prefix != sys.base_prefix)'
rm -rf .venv __pycache__
cd ..
cd c && make -s && ./hello
touch main.c && make | wc -l
make clean >/dev/null; ls
cd ..
awk '{ s += $1 } END { print s }' lib/numbers.txt
sort -rn lib/numbers.txt | head -1
seq 3 | while read n; do echo "n=$n"; done
for f in src/*.js; do echo "$f $(wc -l <"$f")"; done
set -e; cd src; ls | wc -l
diff <(seq 3) <(seq 4) || true
tar czf /tmp/day.tgz src && tar tzf /tmp/day.tgz | sort
mktemp -d >/dev/null && echo made
sleep 0.1 & wait; echo waited
(sleep 30 & echo $! >pid); kill -9 "$(cat pid)" && rm pid && echo killed
timeout 1 sleep 5; echo $?
false; echo $?
exit 3
sh -c 'exit 4'
eval 'echo evaluated'
bash -c 'exec echo replaced'
x=$(cat README.md | wc -l); echo $((x + 1))
printf 'a,b\n1,2\n' | cut -d, -f2
curl -s -m 2 http://127.0.0.1:9 || echo refused
echo secret-free >note && cat note && rm note
find . -name '*.txt' -exec wc -l {} +
find lib -name '*.js' -delete; ls lib
git checkout -q -- lib && ls lib
base64 <<<hello | base64 -d
md5sum README.md | cut -c1-8
date +%Y | wc -c
node -e 'process.stdout.write("x".repeat(100000))' | wc -c
node -e 'require("fs").writeFileSync("big", "y".repeat(1e6))' && wc -c <big && rm big
git worktree add -q ../day-tree 2>/dev/null; echo $?
git rev-parse --abbrev-ref HEAD
git log --format=%s | sort | uniq -c | sort -rn | head -3
npm pkg get name
npm ls --silent | wc -l
dd if=/dev/zero of=zeros bs=1024 count=4 2>/dev/null && wc -c <zeros && rm -f zeros
rm -rf src test && git checkout -q -- . && ls src
git status --short | wc -l`;

/** A here-document is one command with the lines that belong to it. */
export const commands: readonly string[] = text.split('\n').reduce<string[]>((all, line) => {
  const last = all.at(-1);
  const isOpen = last?.includes("<<'EOF'") === true && !last.endsWith('\nEOF');
  if (isOpen) all[all.length - 1] = `${last}\n${line}`;
  else all.push(line);
  return all;
}, []);
