/** Programs of the long form (`npm run prove`), most of which are fetched from registries first. */
import {
  fetched,
  nodeProgram,
  npmProject,
  npmRequire,
  ofNodes,
  python,
  steps,
  systemPython,
  type NetworkProgram,
  type Programs,
  type ProgramTarget,
} from './network-programs.ts';
import { programAnswer } from './program-archives.ts';

const apt = (base: string, name: string): string =>
  steps(
    'mkdir -p $W/lists/partial $W/cache/archives/partial $W/parts $W/state && cd $W',
    'touch $W/state/status',
    `echo 'deb [trusted=yes] ${base} apt/' > $W/sources.list`,
    `apt-get -qq -o Dir::Etc::SourceList=$W/sources.list -o Dir::Etc::SourceParts=$W/parts \\
       -o Dir::State=$W/state -o Dir::State::Lists=$W/lists -o Dir::State::Status=$W/state/status \\
       -o Dir::Cache=$W/cache -o APT::Sandbox::User= -o Acquire::Retries=0 \\
       -o Debug::NoLocking=1 -o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20 ${name}`,
  );

const aptPrograms = (scheme: 'http' | 'https'): NetworkProgram => ({
  needs: '/usr/bin/apt-get',
  scheme,
  script: ({ base }) =>
    steps(
      apt(base, 'update'),
      apt(base, 'download tiny-of-test'),
      'dpkg-deb -f $W/*.deb Description',
    ),
});

const chromium = '/usr/lib/chromium/chromium';
const chromiumWords =
  '--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --disable-background-networking ' +
  '--no-first-run --disable-component-update --disable-sync --user-data-dir=$W/chrome';
const chromiumProgram = (scheme: 'http' | 'https', page: string): NetworkProgram => ({
  needs: chromium,
  scheme,
  script: ({ base }) => `timeout 60 ${chromium} ${chromiumWords} --dump-dom ${base}/${page}`,
});

const webSocket = (base: string, from: string): string => `${from}
  const socket = new WebSocket('${base.replace('https:', 'wss:')}/socket');
  socket.onopen = () => socket.send('hello');
  socket.onerror = () => process.exit(1);
  socket.onmessage = ({ data }) => {
    console.log(String(data));
    if (data !== 'hello') socket.close();
  };`;

const grpcOfNode = (target: ProgramTarget): string => `
  import grpc from '@grpc/grpc-js';
  const bytes = { serialize: (one) => one, deserialize: (one) => one };
  const method = (path) => ({
    path, requestStream: false, responseStream: false,
    requestSerialize: bytes.serialize, requestDeserialize: bytes.deserialize,
    responseSerialize: bytes.serialize, responseDeserialize: bytes.deserialize,
  });
  const Client = grpc.makeGenericClientConstructor(
    {
      say: method('/${target.prefix}.Echo/Say'),
      none: method('/${target.prefix}.Echo/None'),
      chat: { ...method('/${target.prefix}.Echo/Chat'), requestStream: true, responseStream: true },
    }, 'E');
  const client = new Client('${target.host}:443', grpc.credentials.createSsl());
  const deadline = () => ({ deadline: Date.now() + 20000 });
  client.say(Buffer.from('${programAnswer}'), deadline(), (error, got) => {
    if (error) { console.error(error.code, error.details); process.exit(1); }
    client.none(Buffer.from('x'), deadline(), (why) => {
      if (why?.code !== 12 || why.details !== 'no such method') throw why;
      const chat = client.chat(deadline());
      let left = 3;
      chat.write(got);
      chat.on('data', (one) => { left -= 1; if (left > 0) chat.write(one); else chat.end(); });
      chat.on('status', ({ code }) => {
        if (code !== 0 || left !== 0) process.exit(1);
        console.log(String(got)); client.close();
      });
    });
  }).on('status', ({ metadata }) => console.error(String(metadata.get('x-of-test'))));`;

const grpcOfPython = ({ host, prefix }: ProgramTarget): string => `
import grpc, threading
with grpc.secure_channel('${host}:443', grpc.ssl_channel_credentials()) as channel:
    got = channel.unary_unary('/${prefix}.Echo/Say')(b'${programAnswer}', timeout=20)
    try: channel.unary_unary('/${prefix}.Echo/None')(b'x', timeout=20)
    except grpc.RpcError as error: assert error.code() == grpc.StatusCode.UNIMPLEMENTED, error
    def three():
        for _ in range(3):
            yield got
            came.acquire()
    came = threading.Semaphore(0)
    chat = channel.stream_stream('/${prefix}.Echo/Chat')(three(), timeout=20)
    for one in chat: came.release()
    assert chat.code() == grpc.StatusCode.OK
    print(got.decode())`;

export const mavenGet = 'org.apache.maven.plugins:maven-dependency-plugin:3.6.1:get';
const mavenSettings = (base: string): string =>
  `<settings><mirrors><mirror><id>t</id><mirrorOf>*</mirrorOf><url>${base}/maven</url>` +
  `</mirror></mirrors></settings>`;
/** Brings what the program itself needs into `$T/maven`, with an artifact that is everywhere. */
export const mavenFetch =
  `mvn -B -q -Dmaven.repo.local=${fetched.maven} ${mavenGet} ` +
  '-Dartifact=junit:junit:4.13.2 -Dtransitive=false';

const pipFetched = (
  name: string,
  script: (target: ProgramTarget) => string,
  needs = `${fetched.pip}/${name}`,
): NetworkProgram => ({
  needs,
  from: { pip: name === 'httpx' ? ['httpx[http2]'] : [name] },
  script,
});

const sshWords = '-F none -i $D/ssh/user -o UserKnownHostsFile=$D/ssh/known -o BatchMode=yes';

/** What is fetched for the long form: `npm run prove`. */
export const fetchedPrograms: Programs = {
  'apt over https': aptPrograms('https'),
  'apt over http': aptPrograms('http'),
  'headless Chromium': chromiumProgram('https', 'text'),
  'headless Chromium, WebSocket': chromiumProgram('https', 'socket.html'),
  'headless Chromium, without TLS': chromiumProgram('http', 'text'),
  ...ofNodes('undici', (node) => ({
    from: { npm: ['undici@6'] },
    script: ({ base }) =>
      nodeProgram(
        node,
        `import { Agent, request } from 'undici';
         for (const allowH2 of [false, true]) {
           const dispatcher = new Agent({ allowH2 });
           const { statusCode, body } = await request('${base}/text', { dispatcher });
           if (statusCode !== 200) process.exit(1);
           console.log(await body.text());
           await dispatcher.destroy();
         }`,
      ),
  })),
  ...ofNodes('ws', (node) => ({
    from: { npm: ['ws'] },
    script: ({ base }) => nodeProgram(node, webSocket(base, `import { WebSocket } from 'ws';`)),
  })),
  'Node of the project: WebSocket': {
    needs: '$NODE',
    script: ({ base }) => nodeProgram('$NODE', webSocket(base, '')),
  },
  ...ofNodes('gRPC', (node) => ({
    from: { npm: ['@grpc/grpc-js'] },
    script: (target) => nodeProgram(node, grpcOfNode(target)),
  })),
  pnpm: {
    needs: `${fetched.npm}/node_modules/pnpm`,
    from: { npm: ['pnpm@9'] },
    script: ({ base }) =>
      steps(
        npmProject,
        'export XDG_CACHE_HOME=$W/cache',
        `node ${fetched.npm}/node_modules/pnpm/bin/pnpm.cjs add --fetch-retries 0 \\
           --store-dir $W/store --registry ${base}/npm tiny-of-test >&2`,
        npmRequire,
      ),
  },
  'yarn 4': {
    needs: `${fetched.npm}/node_modules/@yarnpkg/cli-dist`,
    from: { npm: ['@yarnpkg/cli-dist@4'] },
    script: ({ base }) =>
      steps(
        npmProject,
        'touch yarn.lock',
        'export YARN_ENABLE_TELEMETRY=0 YARN_ENABLE_GLOBAL_CACHE=0 YARN_NODE_LINKER=node-modules',
        'export YARN_NPM_MINIMAL_AGE_GATE=0 YARN_HTTP_RETRY=0 YARN_GLOBAL_FOLDER=$W/yarn',
        'export YARN_ENABLE_IMMUTABLE_INSTALLS=0',
        `YARN_NPM_REGISTRY_SERVER=${base}/npm \\
           node ${fetched.npm}/node_modules/@yarnpkg/cli-dist/bin/yarn.js add tiny-of-test >&2`,
        npmRequire,
      ),
  },
  'yarn 1': {
    needs: `${fetched.npm}/node_modules/yarn`,
    from: { npm: ['yarn@1'] },
    script: ({ base }) =>
      steps(
        npmProject,
        `node ${fetched.npm}/node_modules/yarn/bin/yarn.js add --no-lockfile --silent \\
           --cache-folder $W/cache --registry ${base}/npm tiny-of-test >&2`,
        npmRequire,
      ),
  },
  requests: pipFetched('requests', ({ base }) =>
    python(
      `import requests
got = requests.get('${base}/text')
got.raise_for_status()
print(got.text)`,
    ),
  ),
  httpx: pipFetched('httpx', ({ base }) =>
    python(`
import httpx
for http2 in (False, True):
    with httpx.Client(http2=http2) as client:
        print(client.get('${base}/text').raise_for_status().text)`),
  ),
  aiohttp: pipFetched('aiohttp', ({ base }) =>
    python(`
import aiohttp, asyncio
async def main():
    async with aiohttp.ClientSession(raise_for_status=True) as session:
        async with session.get('${base}/text') as got: print(await got.text())
asyncio.run(main())`),
  ),
  'Python websockets': pipFetched('websockets', ({ base }) =>
    python(`
from websockets.sync.client import connect
with connect('${base.replace('https:', 'wss:')}/socket') as socket:
    socket.send('hello')
    assert socket.recv() == 'hello'
    print(socket.recv())`),
  ),
  'Python gRPC': {
    needs: `${fetched.pip}/grpc`,
    from: { pip: ['grpcio'] },
    script: (target) => python(grpcOfPython(target)),
  },
  uv: pipFetched(
    'uv',
    ({ base }) =>
      steps(
        `${fetched.pip}/bin/uv pip install -q --python ${systemPython} --target $W/p --no-cache \\
           --index-url ${base}/pypi tiny_of_test`,
        'cat $W/p/tiny_of_test.py',
      ),
    `${fetched.pip}/bin/uv`,
  ),
  'cargo, from git': {
    needs: 'cargo',
    script: ({ base }) =>
      steps(
        'mkdir -p $W/src && cd $W && touch src/lib.rs',
        `printf '[package]\\nname = "p"\\nversion = "1.0.0"\\n[dependencies]\\n' > Cargo.toml`,
        `echo 'tiny-of-git = { git = "${base}/git/repo.git" }' >> Cargo.toml`,
        'CARGO_HOME=$W/cargo CARGO_NET_RETRY=0 cargo fetch -q',
        'cat cargo/git/checkouts/*/*/file',
      ),
  },
  maven: {
    needs: 'mvn',
    from: { maven: [mavenGet] },
    script: ({ base }) =>
      steps(
        'cd $W',
        `echo '${mavenSettings(base)}' > settings.xml`,
        `mvn -B -q -s settings.xml -Dmaven.repo.local=$W/m2 ${mavenGet} \\
           -Dartifact=test:tiny:1.0 -Dtransitive=false >&2`,
        'unzip -p m2/test/tiny/1.0/tiny-1.0.jar text',
      ),
  },
  gh: {
    needs: `${fetched.deb}/usr/bin/gh`,
    from: { deb: ['gh'] },
    script: ({ host, base }) =>
      `GH_HOST=${host} GH_ENTERPRISE_TOKEN=none ${fetched.deb}/usr/bin/gh api ${base}/text`,
  },
  ssh: {
    needs: '$D/ssh/user',
    from: { deb: ['openssh-server', 'libwrap0'] },
    scheme: 'ssh',
    script: ({ host }) => `ssh ${sshWords} user@${host} cat $D/work/file`,
  },
  'git over ssh': {
    needs: '$D/ssh/user',
    from: { deb: ['openssh-server', 'libwrap0'] },
    scheme: 'ssh',
    script: ({ host }) =>
      steps(
        `GIT_SSH_COMMAND='ssh '"${sshWords}" \\
           git clone -q "ssh://user@${host}$D/git/repo.git" $W/clone`,
        'cat $W/clone/file',
      ),
  },
};
