/**
 * The part of the checker that reads the script, and its start, in Python.
 */
export const pythonStartSource = String.raw`
class Offsets:
    """Places in UTF-16 units of the text, from the parser's lines and UTF-8 columns."""

    def __init__(self, source):
        self.lines, self.starts, at = [], [], 0
        for line in split_lines(source):
            self.lines.append(line.encode('utf-8', 'surrogatepass'))
            self.starts.append(at)
            at += units(line)

    def of(self, line, column):
        if not 1 <= line <= len(self.lines):
            return 0
        before = self.lines[line - 1][:column].decode('utf-8', 'replace')
        return self.starts[line - 1] + units(before)

    def span(self, node):
        start = self.of(node.lineno, node.col_offset)
        return [start, max(start, self.of(node.end_lineno, node.end_col_offset))]

    def text(self, node):
        last = node.end_col_offset if node.end_lineno == node.lineno else None
        return self.lines[node.lineno - 1][node.col_offset:last].decode('utf-8', 'replace')

def units(text):
    return len(text) + sum(1 for character in text if character > '\uffff')

def split_lines(source):
    # As the parser counts them: \n, \r\n and \r, and nothing else.
    out, start, at = [], 0, 0
    while at < len(source):
        here = source[at]
        at += 1
        if here == '\r' and at < len(source) and source[at] == '\n':
            at += 1
        if here in '\r\n':
            out.append(source[start:at])
            start = at
    out.append(source[start:])
    return out

def out_of_time(number, frame):
    raise TimeoutError

def main():
    source = sys.stdin.buffer.read().decode('utf-8', 'replace')
    shift = 1 if source.startswith('\ufeff') else 0
    source = source[shift:]
    # The processor's time, whatever else runs; while it is parsed only an end can stop it.
    _signal.signal(_signal.SIGPROF, _signal.SIG_DFL)
    _signal.setitimer(_signal.ITIMER_PROF, SECONDS)
    try:
        tree = compile(source, '<script>', 'exec', PARSE_ONLY, True)
    except RecursionError:
        return {'state': 'nesting', 'found': []}
    except MemoryError:
        return {'state': 'nesting', 'found': []}
    except (SyntaxError, ValueError) as error:
        return {'state': 'syntax', 'line': getattr(error, 'lineno', None) or 1, 'found': []}
    offset = Offsets(source)
    walk = Calls(offset)
    state = 'read'
    _signal.signal(_signal.SIGPROF, out_of_time)
    _signal.setitimer(_signal.ITIMER_PROF, SECONDS)
    try:
        walk.run(tree)
    except TimeoutError:
        state = 'time'
    _signal.setitimer(_signal.ITIMER_PROF, 0)
    found = []
    for kind, detail, node in walk.found.values():
        start, end = offset.span(node)
        found.append({'kind': kind, 'detail': detail, 'span': [start + shift, end + shift]})
    return {'state': state, 'found': found, 'commands': walk.commands}

SECONDS = 1.2
PARSE_ONLY = 0x400
BLOCKS = ('body', 'orelse', 'finalbody', 'handlers', 'cases')
SCOPES = ('globals', 'locals', 'vars')
BUILTINS = frozenset(dir(builtins)) | {'__builtins__', 'execfile'}
NETWORK = frozenset(T['networkModules'])
HARMLESS_SOCKET = frozenset(T['harmlessSocket'])
SUBPROCESS = frozenset(T['subprocess'])
WORD_STARTERS = frozenset(T['wordStarters'])
SINKS = frozenset(T['sinks'])
SINK_METHODS = frozenset(T['sinkMethods'])
PRINTS = frozenset(T['prints'])
PASSING = frozenset(T['passing'])
LOOKING = frozenset(T['looking'])
PATH_OPENERS = frozenset(T['pathOpeners'])
SAME_PATH = frozenset(T['samePath'])

sys.setrecursionlimit(5000)
sys.stdout.write(json.dumps(main()))
`;
