/**
 * The part of the checker that determines what an expression can be, in Python.
 */
export const pythonExpressionsSource = String.raw`
class Expressions(Statements):
    # Names, texts and displays: what an expression can be.

    def module_used(self, name, node):
        parts = canonical(name).split('.')
        for count in range(1, len(parts) + 1):
            if '.'.join(parts[:count]) in NETWORK:
                return self.report('python.network', node, name)

    def used(self, name, node):
        # The value that a dotted name is; naming what only opens connections is enough.
        value = ref(name)
        if value[0] == 'ref':
            parts = value[1].split('.')
            if len(parts) > 1 and '.'.join(parts[:2]) in NETWORK:
                self.report('python.network', node, value[1])
            if parts[0] == 'socket' and len(parts) == 2 and not harmless_socket(parts[1]):
                self.report('python.network', node, value[1])
        return value

    def ev(self, node):
        handler = getattr(self, 'e_' + type(node).__name__, None)
        if handler is not None:
            return handler(node)
        for name in node._fields:
            self.children(getattr(node, name))
        return []

    def e_Constant(self, node):
        value = node.value
        return [('const', value)] if isinstance(value, (str, bytes, int, type(None))) else []

    def e_Name(self, node):
        values = self.scope.find(node.id)
        if values is not None:
            return values
        for module in self.stars:
            full = canonical(module + '.' + node.id)
            if full == 'os.environ' or full in T['calls'] or full in T['openers']:
                return [self.used(full, node)]
        return [ref(node.id)] if node.id in BUILTINS else []

    def e_NamedExpr(self, node):
        values = self.ev(node.value)
        self.store(node.target, values)
        return values

    def e_Attribute(self, node):
        return self.attribute(self.ev(node.value), node.attr, node)

    def attribute(self, subject, name, node):
        out = []
        for kind, detail in subject:
            if kind == 'ref' and name not in ('__dict__', '__getattribute__'):
                out.append(self.used(detail + '.' + name, node))
            elif kind == 'ref':
                out.append(('ref', detail + '.' + name))
            elif kind == 'env' and name in ('_data', '__dict__'):
                out.append(('env', None))
            elif kind == 'path' and name == 'parent':
                out.append(('path', (detail[0], '', False)))
        return out if out or subject else self.attributes.get(name, [])

    def e_Subscript(self, node):
        subject, key = self.ev(node.value), self.ev(node.slice)
        exact, out = plain(key), []
        for kind, detail in subject:
            if kind == 'env':
                out += self.variable(key, node)
            elif kind == 'seq' and exact and isinstance(exact[0], int):
                if -len(detail) <= exact[0] < len(detail):
                    out = merged(out, detail[exact[0]])
            elif kind == 'map' and exact and not isinstance(exact[0], list):
                out = merged(out, detail.get(exact[0], []))
            elif kind == 'ref' and exact and isinstance(exact[0], str):
                out = merged(out, self.member(detail, exact[0], node))
            elif kind == 'const' and isinstance(detail, (str, bytes)):
                out = merged(out, sliced(detail, node.slice, exact))
            elif kind == 'leak':
                out.append(('leak', None))
        return out

    def member(self, table, name, node):
        # os.__dict__["system"], sys.modules["os"], globals()["os"], __builtins__["eval"]
        if table in ('sys.modules', 'builtins'):
            return [self.used(name, node)]
        if table.endswith('.__dict__'):
            return [self.used(table[:-len('.__dict__')] + '.' + name, node)]
        if table in ('globals()', 'locals()', 'vars()'):
            known = self.scope.find(name)
            return [ref(name)] if known is None else known
        return []

    def variable(self, key, node):
        exact = plain(key)
        if exact and isinstance(exact[0], (str, bytes)):
            name = exact[0]
            return [('secret', name if isinstance(name, str) else name.decode('latin-1'))]
        return [('leak', None)] if ('key', None) in key else []

    # Texts

    def e_JoinedStr(self, node):
        out, leaking = ('', '', True), []
        for part in node.values:
            inner = part.value if isinstance(part, _ast.FormattedValue) else part
            values = self.ev(inner)
            if isinstance(part, _ast.FormattedValue) and part.format_spec is not None:
                self.ev(part.format_spec)
            leaking += [v for v in values if v[0] in LEAKS or v[0] == 'secret']
            known = [ends(value) for value in values if ends(value) is not None]
            out = glued(out, known[0] if known else None)
        return leaking or [texted(out)]

    def e_BinOp(self, node):
        return self.binary(node.op, self.ev(node.left), self.ev(node.right), node)

    def binary(self, operator, left, right, node):
        if isinstance(operator, _ast.BitOr):
            return [v for v in left + right if v[0] == 'env'][:1]
        shown = [v for v in left + right if v[0] in LEAKS or v[0] == 'secret']
        if shown:
            return shown[:ALTERNATIVES]
        if isinstance(operator, _ast.Mod) and leaks(right):
            return [('leak', None)]
        one, other = plain(left), plain(right)
        if isinstance(operator, _ast.Mod) and one and isinstance(one[0], str):
            if secrets([v for kind, d in right if kind == 'seq' for item in d for v in item]):
                return [v for kind, d in right if kind == 'seq' for item in d for v in item]
            return percent(one[0], other)
        if isinstance(operator, _ast.Div):
            paths = [value for value in left + right if value[0] == 'path']
            if paths:
                first = ends(left[0]) if left else None
                second = ends(right[0]) if right else None
                return [('path', joined_path([first, second]))]
        if isinstance(operator, _ast.Mult) and one and other:
            return times(one[0], other[0])
        if isinstance(operator, _ast.Add):
            same = one and other and type(one[0]) is type(other[0])
            if same and isinstance(one[0], (bytes, list)):
                return [constant((one[0] + other[0])[:LONGEST])]
            pair = [next((ends(v) for v in side if ends(v)), None) for side in (left, right)]
            return [texted(glued(*pair))] if pair != [None, None] else []
        return []

    def e_UnaryOp(self, node):
        exact = plain(self.ev(node.operand))
        if exact and isinstance(node.op, _ast.Not):
            return [('const', not exact[0])]
        if exact and isinstance(node.op, _ast.USub) and isinstance(exact[0], int):
            return [('const', -exact[0])]
        return []

    def e_IfExp(self, node):
        self.ev(node.test)
        return merged(self.ev(node.body), self.ev(node.orelse))

    def e_BoolOp(self, node):
        return merged(*[self.ev(item) for item in node.values])

    def e_Index(self, node):
        return self.ev(node.value)

    def e_Await(self, node):
        return self.ev(node.value)

    def e_Starred(self, node):
        return [v for v in self.ev(node.value) if v[0] in LEAKS]

    # Displays, comprehensions, functions

    def e_List(self, node):
        return [('seq', [self.ev(item) for item in node.elts])]
    e_Tuple = e_Set = e_List

    def e_Dict(self, node):
        out, copied = {}, []
        for key, value in zip(node.keys, node.values):
            exact = plain(self.ev(key)) if key is not None else None
            values = self.ev(value)
            if key is None:
                copied += [v for v in values if v[0] == 'env']
                for kind, detail in values:
                    if kind == 'map':
                        out.update(detail)
            elif exact and not isinstance(exact[0], list):
                out[exact[0]] = values
            else:
                copied += [v for v in values if v[0] in LEAKS]
        return copied[:1] or [('map', out)]

    def e_ListComp(self, node):
        outer, self.scope = self.scope, Scope(self.scope, True)
        for part in node.generators:
            self.loop(part.target, self.ev(part.iter))
            for test in part.ifs:
                self.ev(test)
        if isinstance(node, _ast.DictComp):
            self.ev(node.key)
            out = [('env', None)] if leaks(self.ev(node.value)) else []
        else:
            values = self.ev(node.elt)
            out = [('leak', None)] if leaks(values) else [('seq', [values])] if values else []
        self.scope = outer
        return out
    e_SetComp = e_GeneratorExp = e_DictComp = e_ListComp

    def e_Lambda(self, node):
        return [self.defined(node)]
`;
