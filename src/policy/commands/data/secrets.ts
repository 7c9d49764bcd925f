/** Commands that show variables or the content of files. */
import type { CommandTable, CommandNode, KnowledgeRule } from '../schema.ts';

const instead = 'Ask for the one name that is needed; never for its value.';

const dump = (match: string[], noMatch: string[], when: KnowledgeRule['when']): KnowledgeRule => ({
  code: 'secrets.environment',
  bound: 'block',
  why: 'shows all variables, and with them secrets',
  instead,
  when,
  match,
  noMatch,
});

const declares = (name: string): CommandNode => ({
  options: {
    print: '-p',
    flag: '-a -A -f -F -g -i -I -l -n -r -t -u +a +i +r +x',
    exported: '-x',
    functions: '-f -F',
  },
  rules: [
    dump([name, `${name} -p`], [`${name} A=1`, `${name} B`], {
      operands: 'none',
      builtin: true,
      none: ['functions'],
    }),
  ],
  payloads: [{ operand: 'each', language: 'expansion' }],
  names: true,
});

const reader = (
  options: Record<string, string> = {},
  reads: CommandNode['reads'] = 'operands',
): CommandNode => ({
  about: 'shows the content of files',
  options,
  ...(reads === undefined ? {} : { reads }),
});

const searcher: CommandNode = {
  about: 'shows lines of files',
  reads: 'rest',
  options: {
    pattern: '-e= -f= --regexp= --file=',
    quiet:
      '-q -c -l -L --quiet --silent --count --files-with-matches --files-without-match --files',
    value:
      '-A= -B= -C= -m= -d= -D= -g= -t= -T= --include[=] --exclude[=] --exclude-dir[=] --color[=]',
    other: '--max-count= --glob= --type= --context= --after-context= --before-context= -r -R',
  },
  quiet: 'quiet',
  pattern: 'pattern',
};

/** Its output is the unpacked content. */
const unpacked = { ...reader(), source: 'decoded' } as const;
const unpacks = (decode: string, value = ''): CommandNode => ({
  about: 'packs files, or unpacks them',
  reads: 'joined',
  options: { decode, ...(value === '' ? {} : { value }) },
  source: 'decoder',
});

const ciphers =
  'enc|base64|zlib|rsautl|pkeyutl|cms|smime|chacha20|des|des3|bf|rc4|aes-256-cbc|aes-192-cbc|' +
  'aes-128-cbc|aes-256-ctr|aes-128-ctr|aes-256-ecb|aes-128-ecb|camellia-256-cbc';

const decoders: CommandNode = {
  reads: 'operands',
  options: { decode: '-d -D -r --decode', value: '-w= -b= -i= -o= --wrap=' },
  source: 'decoder',
};

export const secretShowingCommands: CommandTable = {
  printenv: {
    about: 'shows variables',
    options: { flag: '-0 --null', help: '--help --version' },
    rules: [
      dump(['printenv', 'printenv HOME', 'printenv -0'], ['man printenv', 'printenv --help'], {
        none: ['help'],
      }),
    ],
  },
  set: {
    about: 'changes the shell, or shows all variables',
    rules: [
      dump(['set', 'set | grep X'], ['set -e', 'set -euo pipefail', 'set -- a', 'set --'], {
        alone: true,
        builtin: true,
      }),
    ],
    options: {
      flag: '-e -u -x -v -a -b -f -h -k -m -n -p -t -B -C -E -H -P -T -o= +e +u +x +o= +m',
    },
    style: 'posix',
  },
  export: declares('export'),
  declare: declares('declare'),
  typeset: declares('typeset'),
  compgen: {
    options: { variables: '-v -e', value: '-A= -W= -F= -G= -C= -P= -S= -X= -o=' },
    rules: [
      dump(['compgen -v', 'compgen -e'], ['compgen -c', 'compgen -A function'], {
        any: ['variables'],
      }),
    ],
  },
  echo: { prints: true, style: 'posix', options: { flag: '-n -e -E' } },
  printf: {
    prints: true,
    style: 'posix',
    options: { into: '-v=' },
    payloads: [{ option: 'into', language: 'expansion' }],
  },
  print: { prints: true, style: 'posix', options: { flag: '-n -r -l -P -R -u' } },
  'cat|tac|less|more|most|bat|batcat|nl|od|hexdump|hd|strings|rev|view': reader(),
  'head|tail': reader(),
  'cut|paste|column|fold|fmt|pr|expand|unexpand|iconv': reader(),
  'sort|uniq|comm|join|tsort|shuf': reader(),
  'diff|cmp|sdiff|colordiff|diff3|vimdiff|delta|difft': reader(),
  'zcat|gzcat|bzcat|xzcat|lzcat|zstdcat|lz4cat|lzopcat|zless|zmore|gunzip|bunzip2|unxz|unlzma':
    unpacked,
  'unzstd|unlz4|unlzop|unbrotli|uncompress|funzip|uudecode|uudeview': unpacked,
  'gzip|pigz|bzip2|pbzip2|lbzip2|xz|pixz|lzma|zstd|pzstd|lz4|lzop|brotli|compress|lzip|plzip':
    unpacks('-d --decompress --uncompress', '-S= -T= --suffix= --threads='),
  'unzip|bsdunzip': unpacks('-p -c', '-d= -P= -x='),
  '7z|7za|7zr|7zz': unpacks('-so'),
  'unrar|rar|ar|unar|lsar': unpacks('-p -inul -ierr -o'),
  'gpg|gpg2|age|rage|gpgv': {
    ...unpacks('-d --decrypt', '-o= --output= -r= --recipient= -u= --homedir= -i= --identity='),
    reads: undefined,
  },
  'ccat|pygmentize|glow|mdcat|lolcat|pv|jless|yq|ul|look': reader(),
  'jq|gojq|jaq': reader({ value: '--arg= --indent=', program: '-f= --from-file=' }, 'rest'),
  'sed|gsed': {
    about: 'edits and shows text; may run commands',
    reads: 'rest',
    options: {
      pattern: '-e= -f= --expression= --file=',
      quiet: '-i[=] --in-place[=]',
      flag: '-n -E -r',
    },
    quiet: 'quiet',
    pattern: 'pattern',
  },
  'grep|egrep|fgrep|zgrep|rgrep|pcregrep|ugrep|ggrep|ag|ack': searcher,
  'rg|ripgrep': searcher,
  'tar|gtar': {
    about: 'packs files',
    reads: 'joined',
    options: {
      program: '--to-command= -I= --use-compress-program= --rsh-command= -F= --info-script=',
      other: '--new-volume-script= --rmt-command=',
      value: '-f= --file= -C= --directory= -X= --exclude= --exclude-from= --transform= --format=',
      decode: '-O --to-stdout',
    },
    source: 'decoder',
    bundled: 'O',
    payloads: [
      { option: 'program', language: 'shell' },
      { option: 'other', language: 'shell' },
    ],
  },
  zip: {
    about: 'packs files',
    reads: 'joined',
    options: { value: '-x= -i= -b= -n= -t= -P=', program: '-TT= --unzip-command=' },
    payloads: [{ option: 'program', language: 'shell' }],
  },
  bsdtar: unpacks('-O --to-stdout', '-f= -C='),
  cpio: unpacks('--to-stdout'),
  man: {
    about: 'shows a manual page',
    options: { program: '-P= --pager=', value: '-M= -m= -C= -L= -S= -s= -e= -r=' },
    payloads: [{ option: 'program', language: 'shell' }],
    metadata: true,
  },
  'base64|gbase64|base32|basenc|base58|base85|ascii85|basez|uuencode|yydecode': decoders,
  'xxd|hexyl': { ...decoders, options: { decode: '-r -revert', value: '-c= -g= -l= -s= -o=' } },
  openssl: {
    about: 'encodes, decodes and signs',
    subs: {
      [ciphers]: {
        style: 'exact',
        options: {
          decode: '-d -decrypt',
          shows: '-in=',
          into: '-out=',
          value: '-k= -pass= -K= -iv=',
        },
        source: 'decoder',
      },
    },
  },
  'source-highlight|highlight': reader(),
  'tee|gtee|ts': { about: 'passes its input on', reads: 'input' },
  tr: reader({ flag: '-d -s -c -C -t' }, 'rest'),
  'ls|dir|vdir|stat|file|basename|dirname|realpath|readlink': { metadata: true },
};
