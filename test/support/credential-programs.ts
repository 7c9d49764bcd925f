/**
 * Programs that log in with a token of their usual variable or file, where they have a placeholder
 * for it. Each prints `programAnswer` where the server took what it got.
 */
import {
  fetched,
  npmProject,
  npmRequire,
  python,
  steps,
  systemPython,
} from './network-programs.ts';
import type { NetworkProgram } from './network-programs.ts';
import { mavenGet } from './fetched-programs.ts';
import { programAnswer } from './program-archives.ts';

export interface CredentialProgram extends Pick<NetworkProgram, 'needs' | 'from'> {
  /** Whose token it has; default: `token`. */
  readonly credential?: 'token' | 'aws';
  /** Bash; variables as for {@link NetworkProgram.script}, and `$TOKEN`. */
  readonly script: string;
}

export const credentialHost = 'keys.test';
/** Also below it. */
export const awsHost = 'aws.test';
const base = `https://${credentialHost}/open`;
const withUser = `https://user:$TOKEN@${credentialHost}/open`;
const show = 'cat $W/clone/file';

type CredentialPrograms = Readonly<Record<string, CredentialProgram>>;

const npmInstall =
  'npm i --userconfig $W/npmrc --fetch-retries 0 --cache $W/cache tiny-of-test >/dev/null';
const npmWith = (line: string): CredentialProgram => ({
  needs: 'npm',
  script: steps(
    npmProject,
    `printf 'registry=${base}/npm\\n//${credentialHost}/open/npm/:${line}\\n' "$SHOWN" > npmrc`,
    npmInstall,
    npmRequire,
  ),
});

export const usualCredentialPrograms: CredentialPrograms = {
  'curl, Bearer': {
    needs: 'curl',
    script: `curl -sS -f -H "Authorization: Bearer $TOKEN" ${base}/text`,
  },
  'curl, Bearer over HTTP/1.1': {
    needs: 'curl',
    script: `curl -sS -f --http1.1 -H "Authorization: Bearer $TOKEN" ${base}/text`,
  },
  'curl, as docker login does': {
    needs: 'curl',
    script: `curl -sS -f -u "user:$TOKEN" '${base}/text?service=registry&scope=repository:a:pull'`,
  },
  'curl, .netrc': {
    needs: 'curl',
    script: steps(
      `echo "machine ${credentialHost} login user password $TOKEN" > $W/netrc`,
      `curl -sS -f --netrc-file $W/netrc ${base}/text`,
    ),
  },
  wget: {
    needs: 'wget',
    script: `wget -qO- --tries=1 --user=user --password="$TOKEN" ${base}/text`,
  },
  'Python urllib': {
    needs: systemPython,
    script: python(`
import os, urllib.request as u
asked = u.Request('${base}/text', headers={'X-Api-Key': os.environ['TOKEN']})
print(u.urlopen(asked).read().decode())`),
  },
  'git, in the URL': {
    needs: 'git',
    script: steps(
      `git clone -q https://x-access-token:$TOKEN@${credentialHost}/open/git/repo.git $W/clone`,
      show,
    ),
  },
  'git, in a header': {
    needs: 'git',
    script: steps(
      'basic=$(printf %s "x-access-token:$TOKEN" | base64 -w0)',
      'git config --global http.extraHeader "Authorization: Basic $basic"',
      `git clone -q ${base}/git/repo.git $W/clone`,
      'git config --global --unset http.extraHeader',
      show,
    ),
  },
  'git, of a credential helper, push': {
    needs: 'git',
    script: steps(
      `export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=credential.helper`,
      `export GIT_CONFIG_VALUE_0='!f() { echo username=user; echo password=$TOKEN; }; f'`,
      `git clone -q ${base}/git/repo.git $W/clone`,
      'cd $W/clone',
      'git push -q origin HEAD:refs/heads/$RANDOM',
      show,
    ),
  },
  'npm, _authToken': {
    ...npmWith('_authToken=%s'),
    script: `SHOWN=$TOKEN; ${npmWith('_authToken=%s').script}`,
  },
  'npm, _auth': {
    ...npmWith('_auth=%s'),
    script: `SHOWN=$(printf %s "user:$TOKEN" | base64 -w0); ${npmWith('_auth=%s').script}`,
  },
  pip: {
    needs: systemPython,
    script: steps(
      `${systemPython} -m pip download -q --disable-pip-version-check --retries 0 --no-deps \\
         --no-cache-dir -i ${withUser}/pypi -d $W/p tiny_of_test`,
      'unzip -p $W/p/*.whl tiny_of_test.py',
    ),
  },
  go: {
    needs: 'go',
    script: steps(
      'cd $W',
      'export GOPATH=$W/go GOFLAGS=-modcacherw GOTOOLCHAIN=local GOSUMDB=off',
      `GOPROXY=${withUser}/go go mod download tiny.test/m@v1.0.0`,
      'cat go/pkg/mod/tiny.test/m@v1.0.0/text',
    ),
  },
  cargo: {
    needs: 'cargo',
    script: steps(
      'mkdir -p $W/src && cd $W && touch src/lib.rs',
      `printf '[package]\\nname = "p"\\nversion = "1.0.0"\\n[dependencies]\\n' > Cargo.toml`,
      `echo 'tiny-of-test = { version = "1", registry = "t" }' >> Cargo.toml`,
      `export CARGO_HOME=$W/cargo CARGO_NET_RETRY=0 CARGO_REGISTRIES_T_TOKEN="$TOKEN"`,
      `export CARGO_REGISTRY_GLOBAL_CREDENTIAL_PROVIDERS=cargo:token`,
      `CARGO_REGISTRIES_T_INDEX=sparse+${base}/cargo/ cargo fetch -q`,
      'cat cargo/registry/src/*/tiny-of-test-1.0.0/src/lib.rs',
    ),
  },
};

const settings =
  `<settings><servers><server><id>t</id><username>user</username>` +
  `<password>$TOKEN</password></server></servers><mirrors><mirror><id>t</id>` +
  `<mirrorOf>*</mirrorOf><url>${base}/maven</url></mirror></mirrors></settings>`;

const boto = (source: string): CredentialProgram => ({
  needs: `${fetched.pip}/boto3`,
  from: { pip: ['boto3'] },
  credential: 'aws',
  script: python(`
import boto3, os
from botocore.config import Config
def client(service, endpoint='https://${awsHost}', **more):
    return boto3.client(service, region_name='eu-west-1', endpoint_url=endpoint,
        aws_access_key_id='AKIDOFTHETEST', aws_secret_access_key=os.environ['TOKEN'],
        config=Config(retries={'total_max_attempts': 1}, **more))
${source}`),
});
const path = `s3={'addressing_style': 'path'}`;

export const fetchedCredentialPrograms: CredentialPrograms = {
  gh: {
    needs: `${fetched.deb}/usr/bin/gh`,
    from: { deb: ['gh'] },
    script: steps(
      `export GH_HOST=${credentialHost} GH_ENTERPRISE_TOKEN="$TOKEN"`,
      `${fetched.deb}/usr/bin/gh api ${base}/text`,
      `[ "$(${fetched.deb}/usr/bin/gh auth token -h ${credentialHost})" = "$TOKEN" ]`,
    ),
  },
  uv: {
    needs: `${fetched.pip}/bin/uv`,
    from: { pip: ['uv'] },
    script: steps(
      `${fetched.pip}/bin/uv pip install -q --python ${systemPython} --target $W/p --no-cache \\
         --index-url ${withUser}/pypi tiny_of_test`,
      'cat $W/p/tiny_of_test.py',
    ),
  },
  'uv publish': {
    needs: `${fetched.pip}/bin/uv`,
    from: { pip: ['uv'] },
    script: steps(
      `${fetched.pip}/bin/uv publish --token "$TOKEN" --publish-url ${base}/text $D/*.whl >&2`,
      `echo '${programAnswer}'`,
    ),
  },
  'npm publish': {
    needs: 'npm',
    script: steps(
      `printf 'registry=${base}/npm/\\n' > $W/rc`,
      `echo "//${credentialHost}/open/npm/:_authToken=$TOKEN" >> $W/rc`,
      'mkdir $W/p && cd $W/p',
      `echo '{"name":"p","version":"1.0.0"}' > package.json`,
      'npm publish --userconfig $W/rc --fetch-retries 0 --cache $W/cache >&2',
      `echo '${programAnswer}'`,
    ),
  },
  'Node gRPC': {
    needs: `${fetched.npm}/node_modules/@grpc/grpc-js`,
    from: { npm: ['@grpc/grpc-js'] },
    script: `cd ${fetched.npm}; /usr/bin/node --input-type=module - <<'END'
      import grpc from '@grpc/grpc-js';
      const same = (one) => one;
      const say = {
        path: '/open.Echo/Say', requestStream: false, responseStream: false,
        requestSerialize: same, requestDeserialize: same,
        responseSerialize: same, responseDeserialize: same,
      };
      const Client = grpc.makeGenericClientConstructor({ say }, 'E');
      const client = new Client('${credentialHost}:443', grpc.credentials.createSsl());
      const metadata = new grpc.Metadata();
      metadata.set('authorization', 'Bearer ' + process.env.TOKEN);
      client.say(Buffer.from('${programAnswer}'), metadata, (error, got) => {
        if (error) throw error;
        console.log(String(got)); client.close();
      });
END`,
  },
  maven: {
    needs: 'mvn',
    from: { maven: [mavenGet] },
    script: steps(
      'cd $W',
      `echo "${settings}" > settings.xml`,
      `mvn -B -q -s settings.xml -Dmaven.repo.local=$W/m2 ${mavenGet} \\
         -Dartifact=test:tiny:1.0 -Dtransitive=false >&2`,
      'unzip -p m2/test/tiny/1.0/tiny-1.0.jar text',
    ),
  },
  'Node ws': {
    needs: `${fetched.npm}/node_modules/ws`,
    from: { npm: ['ws'] },
    script: `cd ${fetched.npm}; /usr/bin/node --input-type=module - <<'END'
      import { WebSocket } from 'ws';
      const headers = { authorization: 'Bearer ' + process.env.TOKEN };
      const socket = new WebSocket('wss://${credentialHost}/open/socket', { headers });
      socket.on('open', () => socket.send('hello'));
      socket.on('error', (error) => { throw error; });
      socket.on('message', (data) => {
        console.log(String(data));
        if (data != 'hello') socket.close();
      });
END`,
  },
  'boto3, sts': boto(`print(client('sts').get_caller_identity()['Account'])`),
  'boto3, dynamodb': boto(`
client('dynamodb').put_item(TableName='t', Item={'a': {'S': 'é'}})
print('${programAnswer}')`),
  'boto3, s3': boto(`
s3 = client('s3', ${path})
s3.put_object(Bucket='bucket', Key='a b/ü+~.txt', Body=b'x' * 100000, Metadata={'a': 'b  c'})
print(s3.get_object(Bucket='bucket', Key='a b/ü+~.txt')['Body'].read().decode())
s3.list_objects_v2(Bucket='bucket', Prefix='a b/&=ü', Delimiter='/')`),
  'boto3, s3 of the bucket’s host': boto(`
s3 = client('s3', s3={'addressing_style': 'virtual'})
print(s3.get_object(Bucket='bucket', Key='k')['Body'].read().decode())`),
  'boto3, s3, multipart': boto(`
import io
from boto3.s3.transfer import TransferConfig
s3 = client('s3', ${path})
s3.upload_fileobj(io.BytesIO(b'x' * 6000000), 'bucket', 'large',
    Config=TransferConfig(multipart_threshold=10000000))
print('${programAnswer}')`),
};
