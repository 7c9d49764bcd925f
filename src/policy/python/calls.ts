/**
 * The part of the checker that judges calls, in Python.
 */
export const pythonCallsSource = String.raw`
class Calls(Expressions):
    # Calls: what is called, and what it is given.

    def e_Call(self, node):
        self.commands += 1
        method = node.func.attr if isinstance(node.func, _ast.Attribute) else None
        subject = self.ev(node.func.value) if method else []
        callee = self.attribute(subject, method, node.func) if method else self.ev(node.func)
        args = [self.ev(item) for item in node.args]
        named = {}
        for keyword in node.keywords:
            values = self.ev(keyword.value)
            if keyword.arg is not None:
                named[keyword.arg] = values
            for kind, detail in values if keyword.arg is None else ():
                if kind == 'map':
                    named.update({k: v for k, v in detail.items() if isinstance(k, str)})
        out = self.method(subject, method, args, node) if method else []
        for kind, detail in callee:
            if kind == 'ref':
                out = merged(out, self.called(detail, args, named, node))
            elif kind == 'func':
                self.hand(detail, args, named)
                out = merged(out, self.returns.get(detail, []))
        self.judge(callee, method, args + list(named.values()), node)
        return out

    def hand(self, number, args, named):
        known = self.given.setdefault(number, {})
        for place, values in list(enumerate(args)) + list(named.items()):
            known[place] = merged(known.get(place, []), values)

    def judge(self, callee, method, everything, node):
        # What is shown, and what is handed on to be called.
        names = [detail for kind, detail in callee if kind == 'ref']
        sinks = any(name in SINKS or name.split('.')[0] == 'logging' for name in names)
        if sinks or method in SINK_METHODS and not any(kind == 'env' for kind, _ in callee):
            if any(leaks(values) for values in everything):
                self.report('secrets.environment', node, self.words(node))
        if any(name in PRINTS for name in names):
            for values in everything:
                for name in secrets(values):
                    self.report('variable', node, name)
        if not any(name in LOOKING for name in names):
            for values in everything:
                self.handed_on(values, node)

    def handed_on(self, values, node):
        for kind, detail in values:
            if kind == 'ref' and detail in T['calls']:
                self.report(T['calls'][detail], node, detail)
            elif kind == 'ref' and detail == 'socket':
                self.report('python.network', node, detail)
            elif kind == 'seq':
                for item in detail:
                    self.handed_on(item, node)

    def called(self, name, args, named, node):
        if name in T['calls']:
            self.report(T['calls'][name], node, self.words(node))
        first = args[0] if args else []
        if name in T['openers']:
            self.opened(first or named.get(T['openers'][name], []), node)
        if name in SUBPROCESS:
            self.started(args, named, node)
        elif name in WORD_STARTERS:
            self.report('argv', node, self.argv(args))
        elif name in ('os.kill', 'os.killpg') and len(args) > 1:
            if ('const', 9) in args[1] or ('ref', 'signal.SIGKILL') in args[1]:
                self.report('python.kill', node, self.words(node))
        if name == 'dict' and named:
            return [('map', dict(named))]
        return self.result(name, first, args, node)

    def result(self, name, first, args, node):
        if name in ('__import__', 'importlib.import_module'):
            return self.imported(name, args, node)
        if name == 'getattr' or name.endswith('__getattribute__'):
            return self.got(name, args, node)
        if name == 'vars' and first:
            return [('ref', detail + '.__dict__') for kind, detail in first if kind == 'ref']
        if name == 'os.getenv':
            return self.variable(first, node)
        if name == 'dict' or name in ('copy.copy', 'copy.deepcopy'):
            return [v for v in first if v[0] in LEAKS or v[0] == 'map']
        if name in ('os.path.join', 'pathlib.Path'):
            found = joined_path([next((ends(v) for v in a if ends(v)), None) for a in args])
            if name == 'pathlib.Path':
                return [('path', found if args else ('.', '.', True))]
            return [texted(found)]
        if name in ('glob.glob', 'glob.iglob'):
            return self.globbed(('', '', True), first, 'text')
        if name in ('os.path.expanduser', 'os.path.abspath', 'os.path.realpath', 'os.fspath'):
            return [texted(ends(v)) for v in first if ends(v)]
        if name in ('pathlib.Path.home', 'pathlib.Path.cwd'):
            return [('path', ('', '', False))]
        if name == 'functools.partial':
            return [v for v in first if v[0] == 'ref']
        if name == 'map' and first == [('ref', 'chr')] and len(args) > 1:
            return characters(args[1])
        exact = [plain(values) for values in args]
        if args and None not in exact:
            out = folded_call(name, [item[0] for item in exact])
            if out:
                return out
        if name in PASSING:
            passed = [v for a in args for v in a if v[0] in LEAKS]
            # What lists the environment lists its names.
            if passed and passed[0][0] == 'env' and name not in ('str', 'repr'):
                return [('seq', [[('key', None)]])]
            return passed
        return [('ref', name + '()')] if name not in BUILTINS or name in SCOPES else []

    def imported(self, name, args, node):
        out = []
        for text in texts(args[0]) if args else ():
            self.module_used(text, node)
            if text == 'socket':
                self.report('python.network', node, text)
            out.append(ref(text.split('.')[0] if name == '__import__' else text))
        return out

    def got(self, name, args, node):
        bound = name != 'getattr' and not name.startswith('object.')
        subject = [('ref', name[:-len('.__getattribute__')])] if bound else args[0] if args else []
        key = args[0 if bound else 1] if len(args) > (0 if bound else 1) else []
        out = []
        for text in texts(key):
            out = merged(out, self.attribute(subject, text, node))
        return out

    def method(self, subject, name, args, node):
        out = []
        exact = [plain(values) for values in args]
        for kind, detail in subject:
            if kind == 'env':
                out += self.environment(name, args, node)
            elif kind == 'path':
                out += self.path(detail, name, args, node)
            elif kind == 'const' and isinstance(detail, (str, bytes)):
                if None not in exact:
                    out += folded_method(detail, name, [item[0] for item in exact])
                out += [v for a in args for v in a if v[0] in LEAKS or v[0] == 'secret']
                if name == 'join' and any(leaks(values) for values in args):
                    out.append(('leak', None))
            elif kind in LEAKS:
                out.append((kind, None))
            elif kind == 'map' and name == 'get' and exact and exact[0]:
                out += detail.get(exact[0][0], []) if not isinstance(exact[0][0], list) else []
            elif kind == 'ref' and name == 'get' and exact and exact[0] and texts(args[0]):
                out += self.member(detail, exact[0][0], node)
        if name == 'update' and isinstance(node.func.value, _ast.Name):
            copied = [v for a in args for v in a if v[0] == 'env']
            if copied:
                self.scope.bind(node.func.value.id, copied, False)
        return out

    def environment(self, name, args, node):
        if name in ('get', 'pop', 'setdefault', '__getitem__'):
            return self.variable(args[0] if args else [], node)
        if name in ('items', 'values'):
            return [('pairs' if name == 'items' else 'leak', None)]
        if name in ('copy', '__or__'):
            return [('env', None)]
        if name in ('__repr__', '__str__'):
            return [('leak', None)]
        return [('env', None)] if name == 'keys' else []

    def path(self, found, name, args, node):
        if name in PATH_OPENERS:
            self.opened([('path', found)], node)
        elif 'pathlib.Path.' + name in T['calls']:
            self.report(T['calls']['pathlib.Path.' + name], node, self.words(node))
        elif name in SAME_PATH:
            return [('path', found)]
        elif name == 'iterdir':
            return [('seq', [[('path', (found[0], '', False))]])]
        elif name in ('glob', 'rglob'):
            return self.globbed(found, args[0] if args else [], 'path')
        elif name == 'joinpath':
            others = [next((ends(v) for v in a if ends(v)), None) for a in args]
            return [('path', joined_path([found] + others))]
        elif name == 'with_name' and args:
            other = next((ends(v) for v in args[0] if ends(v)), None)
            return [('path', glued(('', '', False), other, '/'))]
        return []

    def globbed(self, folder, pattern, kind):
        # One of the files that a pattern finds: known by what stands before its first star.
        out = []
        for text in texts(pattern):
            start = text.split('*')[0].split('?')[0]
            ends_ = (folder[0], '/' + start.split('/')[-1], False)
            out.append((kind, ends_ if kind == 'path' else ends_[:2]))
        return [('seq', [out])] if out else []

    def opened(self, values, node):
        for value in values:
            found = ends(value)
            if found is not None:
                self.report('file', node, list(found))

    def started(self, args, named, node):
        shell = named.get('shell', args[8] if len(args) > 8 else [])
        if any(kind == 'const' and detail for kind, detail in shell):
            return self.report('python.shell', node, self.words(node))
        first = args[0] if args else named.get('args', [])
        for kind, detail in first:
            if kind == 'seq':
                self.report('argv', node, self.argv(detail))
            elif kind == 'const' and isinstance(detail, str):
                self.report('argv', node, [detail])

    def argv(self, items):
        out = []
        for values in items[:256]:
            found = [ends(value) for value in values]
            out.append(found[0][0] if len(found) == 1 and found[0] and found[0][2] else None)
        return out

    def words(self, node):
        # The call as it stands, shortened, without any value of the environment.
        return self.offset.text(node)[:120]


class _Return:
    def __init__(self, value):
        self.value = value

def sliced(text, node, exact):
    if exact and isinstance(exact[0], int) and -len(text) <= exact[0] < len(text):
        return [constant(text[exact[0]] if isinstance(text, str) else text[exact[0]])]
    if isinstance(node, _ast.Slice):
        bounds = []
        for part in (node.lower, node.upper, node.step):
            negative = isinstance(part, _ast.UnaryOp) and isinstance(part.op, _ast.USub)
            inner = part.operand if negative else part
            if part is None:
                bounds.append(None)
            elif isinstance(inner, _ast.Constant) and isinstance(inner.value, int):
                bounds.append(-inner.value if negative else inner.value)
            else:
                return []
        return [constant(text[slice(*bounds)])] if bounds[2] != 0 else []
    return []

def percent(form, given):
    if given is None:
        return [texted((form.split('%')[0], form.split('%')[-1][1:], False))]
    items = given[0] if isinstance(given[0], list) else [given[0]]
    parts = form.split('%s')
    if len(parts) != len(items) + 1 or '%' in ''.join(parts):
        return []
    out = parts[0]
    for item, part in zip(items, parts[1:]):
        out += str(item) + part
    return [constant(out[:LONGEST])]

def times(one, other):
    text, count = (one, other) if isinstance(one, (str, bytes)) else (other, one)
    fits = isinstance(text, (str, bytes)) and isinstance(count, int)
    return [constant(text * count)] if fits and 0 <= count * len(text) <= LONGEST else []

def characters(values):
    exact = plain(values)
    if not exact or not isinstance(exact[0], (list, bytes)):
        return []
    try:
        return [constant([chr(item) for item in exact[0]])]
    except (TypeError, ValueError):
        return []

def harmless_socket(name):
    return name in HARMLESS_SOCKET or name.isupper()
`;
