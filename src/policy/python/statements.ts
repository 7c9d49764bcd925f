/**
 * The part of the checker that walks statements and keeps the scopes, in Python.
 */
export const pythonStatementsSource = String.raw`
class Scope:
    def __init__(self, outer, inline=False, visible=True):
        # inline: it runs where it stands; visible: functions inside see its names.
        self.outer, self.inline, self.visible = outer, inline, visible
        self.now, self.ever, self.lifted = {}, {}, {}

    def bind(self, name, values, replace):
        target = self.lifted.get(name, self)
        old = target.now.get(name, [])
        target.now[name] = values if replace else merged(old, values)
        target.ever[name] = merged(target.ever.get(name, []), values)

    def find(self, name):
        # The values of a name, or None where no scope binds it. A function runs later than what
        # is around it was read, so it sees all that was ever bound there.
        scope, later = self.lifted.get(name, self), False
        while scope is not None:
            table = scope.ever if later else scope.now
            if name in table and (scope.visible or scope is self):
                return table[name]
            later = later or not scope.inline
            scope = scope.outer
        return None


class Statements:
    """Walks a tree twice: what functions return and are given is known the second time."""

    def __init__(self, offset):
        self.offset, self.found, self.asked = offset, {}, {}
        self.attributes, self.returns, self.given = {}, {}, {}
        self.stars, self.branch, self.commands = [], 0, 0

    def run(self, tree):
        for _ in range(2):
            self.waiting, self.branch = [], 0
            self.scope = self.module = Scope(None)
            self.commands = 0
            self.body(tree.body)
            while self.waiting:
                self.function(*self.waiting.pop(0))

    def report(self, kind, node, detail):
        self.found.setdefault((kind, node.lineno, node.col_offset), (kind, detail, node))

    def body(self, statements):
        for statement in statements:
            try:
                self.statement(statement)
            except RecursionError:
                self.report('limit.nesting', statement, '')

    # Statements

    def statement(self, node):
        handler = getattr(self, 's_' + type(node).__name__, None)
        if handler is not None:
            return handler(node)
        blocks = [name for name in node._fields if name in BLOCKS]
        for name in node._fields:
            if name not in blocks:
                self.children(getattr(node, name))
        self.branch += 1
        for name in blocks:
            for item in getattr(node, name):
                if isinstance(item, _ast.stmt):
                    self.body([item])
                else:
                    self.statement(item)
        self.branch -= 1

    def children(self, value):
        if isinstance(value, list):
            for item in value:
                self.children(item)
        elif isinstance(value, _ast.expr):
            self.ev(value)
        elif isinstance(value, _ast.AST):
            for name in value._fields:
                self.children(getattr(value, name))

    def s_Expr(self, node):
        values = self.ev(node.value)
        if leaks(values):
            self.report('secrets.environment', node, self.words(node.value))

    def s_Import(self, node):
        for item in node.names:
            self.module_used(item.name, node)
            name = item.name if item.asname else item.name.split('.')[0]
            self.bind(item.asname or name, [ref(name)])

    def s_ImportFrom(self, node):
        module = node.module or ''
        if node.level > 0:
            for item in node.names:
                self.bind(item.asname or item.name, [])
            return
        self.module_used(module, node)
        for item in node.names:
            if item.name == '*':
                self.stars.append(module)
            else:
                full = module + '.' + item.name
                self.module_used(full, node)
                self.bind(item.asname or item.name, [self.used(full, node)])

    def s_FunctionDef(self, node):
        for decorator in node.decorator_list:
            self.handed_on(self.ev(decorator), decorator)
        self.bind(node.name, [self.defined(node)])
        self.attributes[node.name] = []
    s_AsyncFunctionDef = s_FunctionDef

    def defined(self, node):
        number = (node.lineno, node.col_offset)
        defaults = [self.ev(item) for item in node.args.defaults]
        named = [self.ev(item) if item else [] for item in node.args.kw_defaults]
        positional = getattr(node.args, 'posonlyargs', []) + node.args.args
        given = dict(zip([item.arg for item in positional][len(positional) - len(defaults):],
                         defaults))
        given.update(zip([item.arg for item in node.args.kwonlyargs], named))
        self.waiting.append((node, self.scope, number, given))
        return ('func', number)

    def function(self, node, outer, number, given):
        self.scope, self.branch, self.number = Scope(outer), 0, number
        arguments = node.args
        every = getattr(arguments, 'posonlyargs', []) + arguments.args + arguments.kwonlyargs
        for extra in (arguments.vararg, arguments.kwarg):
            if extra is not None:
                self.scope.bind(extra.arg, [], True)
        later = self.given.get(number, {})
        for index, item in enumerate(every):
            values = merged(later.get(item.arg, []), later.get(index, []), given.get(item.arg, []))
            self.scope.bind(item.arg, values, True)
        if isinstance(node, _ast.Lambda):
            try:
                self.s_Return(_Return(node.body))
            except RecursionError:
                self.report('limit.nesting', node, '')
        else:
            self.body(node.body)

    def s_Return(self, node):
        if node.value is not None:
            values = self.ev(node.value)
            number = getattr(self, 'number', None)
            self.returns[number] = merged(self.returns.get(number, []), values)

    def s_ClassDef(self, node):
        for decorator in node.decorator_list:
            self.handed_on(self.ev(decorator), decorator)
        for item in node.bases + [keyword.value for keyword in node.keywords]:
            self.ev(item)
        outer = self.scope
        self.scope = Scope(outer, True, False)
        self.body(node.body)
        for name, values in self.scope.now.items():
            if not any(kind == 'func' for kind, _ in values):
                self.attributes[name] = merged(self.attributes.get(name, []), values)
        self.scope = outer
        self.bind(node.name, [])

    def s_Global(self, node):
        for name in node.names:
            self.scope.lifted[name] = self.module

    def s_Nonlocal(self, node):
        for name in node.names:
            if self.scope.outer is not None:
                self.scope.lifted[name] = self.scope.outer

    def s_Assign(self, node):
        values = self.ev(node.value)
        for target in node.targets:
            self.store(target, values)

    def s_AnnAssign(self, node):
        if node.value is not None:
            self.store(node.target, self.ev(node.value))

    def s_AugAssign(self, node):
        known = self.ev(node.target) if isinstance(node.target, _ast.Name) else []
        added = self.binary(node.op, known, self.ev(node.value), node)
        self.store(node.target, merged(added, [] if plain(added) else known))

    def s_For(self, node):
        self.branch += 1
        self.loop(node.target, self.ev(node.iter))
        self.body(node.body + node.orelse)
        self.branch -= 1
    s_AsyncFor = s_For

    def s_With(self, node):
        for item in node.items:
            values = self.ev(item.context_expr)
            if item.optional_vars is not None:
                self.store(item.optional_vars, values)
        self.body(node.body)
    s_AsyncWith = s_With

    def loop(self, target, values):
        out = []
        for kind, detail in values:
            if kind == 'seq':
                for item in detail:
                    out = merged(out, item)
            elif kind == 'env':
                out.append(('key', None))
            elif kind == 'pairs':
                out.append(('seq', [[('key', None)], [('leak', None)]]))
            elif kind == 'leak':
                out.append(('leak', None))
        self.store(target, out)

    def bind(self, name, values):
        self.scope.bind(name, values, self.branch == 0)

    def store(self, target, values):
        if isinstance(target, _ast.Name):
            self.bind(target.id, values)
        elif isinstance(target, (_ast.Tuple, _ast.List)):
            for index, item in enumerate(target.elts):
                inner = []
                for kind, detail in values:
                    if kind == 'seq' and index < len(detail):
                        inner = merged(inner, detail[index])
                    elif kind == 'leak':
                        inner = merged(inner, [('leak', None)])
                self.store(item, inner)
        elif isinstance(target, _ast.Starred):
            self.store(target.value, [])
        elif isinstance(target, _ast.Attribute):
            self.ev(target.value)
            known = self.attributes.get(target.attr, [])
            self.attributes[target.attr] = merged(known, values)
        elif isinstance(target, _ast.Subscript):
            self.ev(target.value)
            self.ev(target.slice)
`;
