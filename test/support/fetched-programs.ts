/** Programs that a machine may lack: `npm run prove` fetches them from their registries. */
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import type { Program } from './program.ts';

const pythonPackages = ['requests', 'httpx[http2]', 'aiohttp', 'uv'];
const nodePackages = ['undici', 'ws', 'pnpm@10', 'yarn@1'];

const python = (text: (base: string) => string): Program => ({
  needs: '/usr/bin/python3',
  scheme: 'https',
  script: (base) => `PYTHONPATH=$T/py /usr/bin/python3 -c "${text(base)}"`,
});
const install = (command: string, after: string): Program => ({
  needs: 'npm',
  scheme: 'https',
  script: (base) =>
    [
      '(rm -rf $W/i; mkdir -p $W/i',
      'cd $W/i',
      'npm init -y >/dev/null',
      `export npm_config_registry=${base}/npm YARN_REGISTRY=${base}/npm`,
      `PATH=$T/js/node_modules/.bin:$PATH timeout 60 ${command} >/dev/null`,
      `${after})`,
    ].join(' && '),
});

export const fetchedPrograms: Readonly<Record<string, Program>> = {
  requests: python((base) => `import requests; print(requests.get('${base}/text').text)`),
  httpx: python((base) => `import httpx; print(httpx.get('${base}/text').text)`),
  aiohttp: python(
    (base) => `
import aiohttp, asyncio
async def main():
    async with aiohttp.ClientSession() as session:
        async with session.get('${base}/text') as answer: print(await answer.text())
asyncio.run(main())`,
  ),
  uv: {
    needs: '/usr/bin/python3',
    scheme: 'https',
    script: (base) =>
      [
        '(rm -rf $W/uv',
        'export UV_PYTHON=/usr/bin/python3 UV_NO_CACHE=1',
        `timeout 60 $T/py/bin/uv pip install -q --target $W/uv -i ${base}/pypi tiny_of_test`,
        'cat $W/uv/tiny_of_test.py)',
      ].join(' && '),
  },
  undici: {
    needs: '/usr/bin/node',
    scheme: 'https',
    script: (base) => {
      const text = `require('undici').request('${base}/text').then((r) => r.body.text())`;
      return `cd $T/js && /usr/bin/node -e "${text}.then(console.log)"`;
    },
  },
  pnpm: install('pnpm add tiny-of-test', `node -p "require('tiny-of-test')"`),
  yarn: install('yarn add tiny-of-test', `node -p "require('tiny-of-test')"`),
  go: {
    needs: 'go',
    scheme: 'https',
    script: (base) =>
      `cat > $W/main.go <<'END'
package main
import ("fmt"; "io"; "net/http"; "os")
func main() {
  answer, err := http.Get("${base}/text")
  if err != nil { fmt.Fprintln(os.Stderr, err); os.Exit(1) }
  body, _ := io.ReadAll(answer.Body)
  fmt.Print(string(body))
}
END
cd $W && GOTMPDIR=$T GOCACHE=$T/gocache timeout 100 go run main.go`,
  },
};

/** @param directory gets `py` and `js`. @returns what went wrong; empty: nothing */
export function fetchPrograms(directory: string): string {
  const run = (command: string, args: readonly string[], cwd: string): string => {
    mkdirSync(cwd, { recursive: true });
    const done = spawnSync(command, args, { cwd, encoding: 'utf8', timeout: 300_000 });
    return done.status === 0 ? '' : `${command}: ${done.stderr}`;
  };
  const [py, js] = [`${directory}/py`, `${directory}/js`];
  const pip = ['-m', 'pip', 'install', '-q', '--no-warn-script-location', '--target', py];
  return [
    run('/usr/bin/python3', [...pip, ...pythonPackages], py),
    run('npm', ['i', '--no-audit', '--no-fund', '--prefix', js, ...nodePackages], js),
  ].join('');
}
