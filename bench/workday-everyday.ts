/** What is done in any project: look, search, edit, git, and the rest of a shell's work. */

export interface Edited {
  readonly file: string;
  readonly directory: string;
  /** In many lines of the directory. */
  readonly word: string;
  /** A line that may end the file. */
  readonly comment: string;
}

export function everyday({ file, directory, word, comment }: Edited): string[] {
  return String.raw`
ls
head -20 ${file}
cat ${file} | md5sum
wc -l ${file}
sed -n 10,30p ${file}
grep -rn '${word}' ${directory} --include='*.*' | wc -l
find ${directory} -type f -not -path './.git/*' | wc -l
git status --short
git log --oneline | wc -l
git checkout -q -b work
echo '${comment}' >>${file}
git diff --stat | tail -1
tail -1 ${file}
git stash -q && git stash list | wc -l
git stash pop -q && git diff --shortstat
git commit -qam 'Edit a file' && git log -1 --format=%s
git show --stat --format=%s HEAD | head -3
git checkout -q main && git merge -q work && git branch -d work | wc -l
git blame -s ${file} | wc -l
cp ${file} /tmp/copy && diff ${file} /tmp/copy && echo same
awk 'length > 60' ${file} | wc -l
mkdir -p scratch/a && echo note >scratch/a/b && cat scratch/a/b && rm -rf scratch
export DAY=one && echo $DAY
echo $DAY
tar czf /tmp/all.tgz ${directory === '.' ? file : directory} && tar tzf /tmp/all.tgz | wc -l`
    .trim()
    .split('\n');
}
