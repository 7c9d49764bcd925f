/** Programs that run a command somewhere else: on another machine, in a container or a cluster. */
import type { CommandTable, CommandNode } from '../schema.ts';
import { outwardSubcommands } from './outward.ts';

const containers = 'works on containers';

/** Options of `docker run`, `create` and `exec`, and of compatible programs. */
const ofContainer =
  '-a= --attach= --add-host= --annotation= --blkio-weight= --cap-add= --cap-drop= ' +
  '--cgroup-parent= --cgroupns= --cidfile= -c= --cpu-shares= --cpus= --cpuset-cpus= ' +
  '--cpuset-mems= --cpu-period= --cpu-quota= --device= --dns= --dns-search= --domainname= -e= ' +
  '--env= --env-file= --expose= --gpus= --group-add= -h= --hostname= --health-cmd= --ip= --ip6= ' +
  '--ipc= --isolation= -l= --label= --label-file= --link= --log-driver= --log-opt= ' +
  '--mac-address= -m= --memory= --memory-swap= --mount= --name= --network= --net= ' +
  '--network-alias= --oom-score-adj= --pid= --pids-limit= --platform= -p= --publish= --pull= ' +
  '--restart= --runtime= --security-opt= --shm-size= --stop-signal= --stop-timeout= ' +
  '--storage-opt= --sysctl= --tmpfs= --ulimit= -u= --user= --userns= --uts= -v= --volume= ' +
  '--volume-driver= --volumes-from= -w= --workdir= --detach-keys= --index= --arch= --pod= ' +
  '--requirepass= --secret=';

/** The words after `skip` operands are a command, where it runs. */
const inside = (
  skip: number,
  value: string,
  options: Record<string, string> = {},
): CommandNode => ({
  about: 'runs a command in a container',
  elsewhere: true,
  style: 'posix',
  options: { value, entry: '--entrypoint=', ...options },
  wrapper: { skip },
  payloads: [{ option: 'entry', language: 'shell' }],
});

const compose: CommandNode = {
  about: containers,
  options: {
    value: '-f= --file= -p= --project-name= --profile= --env-file= --project-directory= --ansi=',
  },
  subs: {
    'exec|run': inside(1, ofContainer),
    ...outwardSubcommands('docker compose', { image: 'push' }),
  },
};

const pushes: CommandNode = {
  options: {
    push: '--push',
    value: '-t= --tag= -f= --file= --build-arg= --platform= -o= --output=',
  },
  rules: [
    {
      code: 'publish.image',
      bound: 'block',
      why: 'publishes an image',
      instead: 'Build it, and let a person push.',
      when: { all: ['push'] },
      match: ['docker build --push -t x .', 'docker buildx build . --push'],
      noMatch: ['docker build -t x .', 'docker buildx build --load .'],
    },
  ],
};

const ran = inside(1, ofContainer);

/** `host COMMAND…`: what comes after the host is given to a shell there. */
const shellThere = (value: string, flag = ''): CommandNode => ({
  about: 'works on another machine',
  elsewhere: true,
  style: 'posix',
  options: { setting: '-o=', value, ...(flag === '' ? {} : { flag }) },
  payloads: [
    { operand: 'rest', language: 'shell' },
    { option: 'setting', language: 'config' },
  ],
});

const afterDashes: CommandNode = { style: 'posix', elsewhere: true, wrapper: { after: '--' } };

const ofKubectl =
  '-n= --namespace= --context= --cluster= --kubeconfig= -s= --server= --user= --token= --as= ' +
  '--request-timeout= --cache-dir= -c= --container= -f= --filename= -l= --selector= --image= ' +
  '--pod-running-timeout= --profile= -v=';

const kubectl: CommandNode = {
  about: 'works on a cluster',
  options: { value: ofKubectl },
  subs: {
    exec: { ...inside(1, ofKubectl), wrapper: { after: '--', skip: 1 } },
    'run|debug': { style: 'posix', elsewhere: true, wrapper: { after: '--' } },
    rsh: inside(1, ofKubectl),
    ...outwardSubcommands('kubectl', { login: 'login, logout, config set-credentials' }),
  },
};

const commandOption = (spelled: string, value = ''): CommandNode => ({
  elsewhere: true,
  options: { command: spelled, value },
  payloads: [{ option: 'command', language: 'shell' }],
});

export const remoteCommands: CommandTable = {
  ssh: {
    ...shellThere(
      '-B= -b= -c= -D= -E= -e= -F= -I= -i= -J= -L= -l= -m= -O= -P= -p= -Q= -R= -S= -W= -w=',
      '-4 -6 -A -a -C -f -G -g -K -k -M -N -n -q -s -T -t -V -v -X -x -Y -y',
    ),
    sink: 'shell',
  },
  'autossh|slogin|rsh|remsh|dbclient|plink|et|mosh': shellThere(
    '-M= -p= -i= -l= -P= -L= -R= -D= -J= -F= -w= --ssh= --predict= --server=',
  ),
  sshpass: {
    about: 'works on another machine',
    style: 'posix',
    options: { value: '-p= -f= -d= -P=' },
    wrapper: {},
  },
  'pdsh|clush|parallel-ssh|pssh': {
    ...shellThere('-w= -x= -l= -f= -t= -u= -h= -H= -g= -p='),
    payloads: [{ operand: 'all', language: 'shell' }],
  },
  'docker|podman|nerdctl|buildah': {
    about: containers,
    options: { value: '--config= -c= --context= -H= --host= -l= --log-level= -n= --namespace=' },
    subs: {
      'exec|run|create': ran,
      container: { subs: { 'exec|run|create': ran } },
      compose,
      build: pushes,
      buildx: { subs: { 'build|b': pushes, bake: pushes } },
      ...outwardSubcommands('docker', {
        image: 'push, image push, manifest push',
        login: 'login, logout',
      }),
    },
  },
  'docker-compose|podman-compose': compose,
  'kubectl|kubecolor|oc': kubectl,
  'k3s|microk8s|minikube': { about: 'works on a cluster', subs: { kubectl, ssh: afterDashes } },
  'crictl|runc|crun|nomad': {
    about: containers,
    subs: { 'exec|x': inside(1, '-r= -i= -e= -u= -job=') },
  },
  'lxc|incus|multipass|devcontainer|tsh': {
    about: 'works on another machine',
    subs: {
      'exec|shell': {
        ...inside(1, '--user= --group= --cwd= --env= --workspace-folder='),
        wrapper: { after: '--' },
      },
      ssh: shellThere('-p= -l= --proxy='),
    },
  },
  'lima|limactl|colima|toolbox|distrobox': {
    about: 'works on another machine',
    subs: { 'ssh|enter|run|shell': { style: 'posix', elsewhere: true, wrapper: { after: '--' } } },
  },
  'lxc-attach|flatpak-spawn|distrobox-enter': {
    about: containers,
    elsewhere: true,
    wrapper: { after: '--' },
  },
  machinectl: {
    about: containers,
    subs: { shell: { style: 'posix', elsewhere: true, wrapper: { skip: 1 } } },
  },
  vagrant: { about: 'works on another machine', subs: { ssh: commandOption('-c= --command=') } },
  'fly|flyctl': {
    about: 'works on a deployment',
    options: { value: '-a= --app= -c= --config= -t= --access-token=' },
    subs: {
      ...outwardSubcommands('flyctl', {
        deploy: 'deploy, launch, scale, machine run, apps destroy',
        login: 'auth login, auth logout, auth token, tokens create, secrets set',
      }),
      ssh: { subs: { console: commandOption('-C= --command=', '-a= -u=') } },
    },
  },
  adb: {
    about: 'works on a device',
    options: { value: '-s= -t= -H= -P= -L=' },
    subs: {
      'shell|exec-out': {
        elsewhere: true,
        style: 'posix',
        options: { value: '-e=' },
        payloads: [{ operand: 'all', language: 'shell' }],
      },
    },
  },
  ansible: {
    about: 'works on other machines',
    elsewhere: true,
    options: {
      command: '-a= --args=',
      value: '-m= -i= -u= -f= -e= -l= --module-name= --inventory=',
    },
    payloads: [{ option: 'command', language: 'shell' }],
  },
};
