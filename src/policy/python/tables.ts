/**
 * The names that the checker of Python scripts knows: data that is part of its program.
 *
 * A name is the full dotted one after aliases: `subprocess.run`; a builtin has no dot. A called
 * value carries `()`: `ctypes.CDLL().system`.
 */

/** Why a script is refused: the key is what the checker reports. */
export const pythonRefusals = {
  'python.shell': {
    why: 'hands text to a shell',
    instead: 'Pass a list of words to subprocess.run without shell=True.',
  },
  'python.exec': {
    why: 'runs a program in place of the script or beside it',
    instead: 'Pass a list of words to subprocess.run.',
  },
  'python.eval': {
    why: 'runs text as code',
    instead: 'Write the code itself, or parse data with json or ast.literal_eval.',
  },
  'python.delete': {
    why: 'deletes files',
    instead: 'Name the files to be deleted in a command of its own.',
  },
  'python.network': { why: 'opens a network connection', instead: null },
  'python.kill': { why: 'kills a process by force', instead: 'Send SIGTERM first.' },
  'secrets.environment': {
    why: 'shows the whole environment',
    instead: 'Read the one variable that is needed.',
  },
} as const;

export type PythonRefusalCode = keyof typeof pythonRefusals;

const named = (prefix: string, names: string) => names.split(' ').map((name) => `${prefix}${name}`);

/** Functions that are refused when they are called, or handed on to be called. */
const calls: Readonly<Partial<Record<PythonRefusalCode, readonly string[]>>> = {
  'python.shell': [
    ...named('os.', 'system popen popen2 popen3 popen4'),
    ...named('subprocess.', 'getoutput getstatusoutput'),
    ...named('asyncio.', 'create_subprocess_shell subprocess.create_subprocess_shell'),
    ...named('ctypes.', 'CDLL().system cdll.LoadLibrary().system PyDLL().system'),
    ...named('', 'pty.spawn commands.getoutput commands.getstatusoutput'),
  ],
  'python.exec': [
    ...named('os.exec', 'l le lp lpe v ve vp vpe'),
    ...named('os.spawn', 'l le lp lpe v ve vp vpe'),
    ...named('os.', 'posix_spawn posix_spawnp startfile'),
  ],
  'python.eval': ['exec', 'eval', 'execfile'],
  'python.delete': [
    ...named('os.', 'remove unlink rmdir removedirs'),
    ...named('shutil.', 'rmtree'),
    ...named('pathlib.Path.', 'unlink rmdir'),
  ],
  'python.network': [
    ...named('asyncio.', 'open_connection start_server'),
    ...named('asyncio.', 'open_unix_connection start_unix_server'),
    ...named('ssl.', 'get_server_certificate wrap_socket'),
    ...named('multiprocessing.connection.', 'Client Listener'),
    'pip.main',
  ],
};

export const pythonCheckerTables = {
  calls: Object.fromEntries(
    Object.entries(calls).flatMap(([reason, names]) => names.map((name) => [name, reason])),
  ),
  /** Modules that have no use but the network: the import is refused. */
  networkModules: [
    ...named('', 'requests httpx aiohttp urllib3 httplib2 pycurl grequests treq'),
    ...named('', 'urllib.request urllib2 http.client http.server httplib xmlrpc.client'),
    ...named('', 'xmlrpc.server socketserver ftplib smtplib telnetlib poplib imaplib nntplib'),
    ...named('', 'websocket websockets paramiko tornado.httpclient _socket'),
  ],
  /** What `socket` offers without opening one; constants in capitals are harmless, too. */
  harmlessSocket: [
    ...named('', 'gethostname error timeout herror gaierror inet_aton inet_ntoa inet_pton'),
    ...named('', 'inet_ntop htons htonl ntohs ntohl has_ipv6 getdefaulttimeout'),
  ],
  /** Functions that open the file in their first argument, and its name as a keyword. */
  openers: {
    open: 'file',
    'os.open': 'path',
    'io.FileIO': 'file',
    'io.open_code': 'path',
    'codecs.open': 'filename',
    'tokenize.open': 'filename',
    'gzip.open': 'filename',
    'fileinput.input': 'files',
    'fileinput.FileInput': 'files',
    'linecache.getlines': 'filename',
    'linecache.getline': 'filename',
    'shutil.copy': 'src',
    'shutil.copy2': 'src',
    'shutil.copyfile': 'src',
    'shutil.move': 'src',
    'numpy.fromfile': 'file',
    'numpy.loadtxt': 'fname',
    'numpy.genfromtxt': 'fname',
    'pandas.read_csv': 'filepath_or_buffer',
    'pandas.read_table': 'filepath_or_buffer',
  },
  /** Methods of a `pathlib.Path` that open the file. */
  pathOpeners: named('', 'open read_text read_bytes write_text write_bytes'),
  /** Methods of a path that give a path of the same text. */
  samePath: named('', 'expanduser resolve absolute'),
  subprocess: named('subprocess.', 'run call check_call check_output Popen'),
  /** Functions that start a program from their arguments, word by word. */
  wordStarters: ['asyncio.create_subprocess_exec', 'asyncio.subprocess.create_subprocess_exec'],
  /** What shows, writes or sends what it is given. */
  sinks: [
    ...named('', 'print json.dumps json.dump pprint.pprint pprint.pp pprint.pformat'),
    ...named('', 'pickle.dumps pickle.dump yaml.dump yaml.safe_dump marshal.dumps sys.exit'),
    ...named('logging.', 'debug info warning error critical exception log'),
    ...named('os.', 'write'),
  ],
  sinkMethods: [
    ...named('', 'write writelines write_text write_bytes send sendall print pprint'),
    ...named('', 'debug info warning error critical log dump dumps post put format format_map'),
  ],
  /** What shows a single value: `print(os.environ["API_KEY"])`. */
  prints: [
    ...named('', 'print pprint.pprint pprint.pp sys.stdout.write sys.stderr.write'),
    ...named('', 'sys.stdout.buffer.write sys.__stdout__.write sys.exit'),
  ],
  /** Builtins whose result contains their argument, for tracking secrets. */
  passing: named('', 'list tuple set frozenset sorted iter reversed enumerate str repr map filter'),
  /** Functions that look at a function without calling it. */
  looking: [
    ...named('', 'print repr str type help callable id hash isinstance issubclass dir'),
    ...named('inspect.', 'getsource signature getdoc isfunction isbuiltin'),
  ],
  /** Modules that others have imported, and so offer as their own attribute. */
  carried: named('', 'os sys subprocess shutil builtins'),
  /** Other names of the same module or function; longest first. */
  aliases: {
    __builtin__: 'builtins',
    __builtins__: 'builtins',
    posix: 'os',
    nt: 'os',
    posixpath: 'os.path',
    ntpath: 'os.path',
    'io.open': 'open',
    '_io.open': 'open',
    'importlib.__import__': '__import__',
    'os.environb': 'os.environ',
    'os.getenvb': 'os.getenv',
    'pathlib.PosixPath': 'pathlib.Path',
    'pathlib.WindowsPath': 'pathlib.Path',
    'pathlib.PurePath': 'pathlib.Path',
    'pathlib.PurePosixPath': 'pathlib.Path',
  },
} as const;
