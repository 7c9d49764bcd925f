/**
 * The part of the checker that knows values: Python, as text, because the checker is handed to
 * the interpreter by `-c` and must be found wherever the bundle lies.
 */
export const pythonValuesSource = String.raw`
import _ast, _signal, builtins, json, resource, sys

resource.setrlimit(resource.RLIMIT_CPU, (2, 2))
resource.setrlimit(resource.RLIMIT_AS, (1 << 29, 1 << 29))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

# A value is a pair (kind, detail); the values of an expression are a short list of what it can be.
#   const: an exact str, bytes, int, bool or None      text: (head, tail) of a str known in part
#   ref:   a dotted name                               path: (head, tail, exact) of a pathlib.Path
#   seq:   a list of value lists                       map:  a dict of const key to value list
#   env:   the environment as a mapping                pairs, leak: its items; anything with a value
#   key:   one of its names, not known                 secret: (name) the value of one variable
#   func:  a function of the script, by its number
ALTERNATIVES = 6
LONGEST = 4096
LEAKS = ('env', 'pairs', 'leak')

def canonical(name):
    parts = name.split('.')
    for count in range(len(parts), 0, -1):
        other = T['aliases'].get('.'.join(parts[:count]))
        if other is not None:
            return canonical('.'.join([other] + parts[count:]))
    # shutil.os.remove: a module is the same wherever another one has it.
    for at in range(len(parts) - 1, 0, -1):
        own = parts[:at] != ['asyncio'] and not any(part.endswith('()') for part in parts[:at])
        if parts[at] in T['carried'] and own:
            return canonical('.'.join(parts[at:]))
    if parts[0] == 'builtins' and len(parts) > 1:
        return canonical('.'.join(parts[1:]))
    return name

def ref(name):
    name = canonical(name)
    return ('env', None) if name == 'os.environ' else ('ref', name)

def texts(values):
    return [detail for kind, detail in values if kind == 'const' and isinstance(detail, str)]

def merged(*lists):
    out = []
    for values in lists:
        for value in values:
            if value not in out and len(out) < ALTERNATIVES:
                out.append(value)
    return out

def leaks(values, depth=0):
    # Whether a value of the environment is in it, at any depth of a display.
    for kind, detail in values:
        if kind in LEAKS:
            return True
        inner = detail if kind == 'seq' else detail.values() if kind == 'map' else ()
        if depth < 4 and any(leaks(item, depth + 1) for item in inner):
            return True
    return False

def secrets(values):
    return [detail for kind, detail in values if kind == 'secret']

def ends(value):
    # (head, tail, exact) of a text or a path; None for anything else.
    kind, detail = value
    if kind == 'const':
        if isinstance(detail, bytes):
            detail = detail.decode('utf-8', 'replace')
        return (detail, detail, True) if isinstance(detail, str) else None
    if kind == 'text':
        return (detail[0], detail[1], False)
    return detail if kind == 'path' else None

def glued(left, right, between=''):
    # Two ends side by side; None is text that is not known.
    if left is None and right is None:
        return ('', '', False)
    if left is None:
        return ('', between + right[1] if right[2] else right[1], False)
    if right is None:
        return (left[0] + between if left[2] else left[0], '', False)
    if left[2] and right[2]:
        whole = (left[0] + between + right[0])[:LONGEST]
        return (whole, whole, True)
    head = left[0] + between + right[0] if left[2] else left[0]
    tail = left[1] + between + right[1] if right[2] else right[1]
    return (head[:LONGEST], tail[-LONGEST:], False)

def texted(found):
    return ('const', found[0]) if found[2] else ('text', (found[0], found[1]))

def joined_path(pieces):
    out = None
    for index, piece in enumerate(pieces):
        if piece is not None and piece[0].startswith('/'):
            out = piece
        else:
            out = piece if index == 0 else glued(out, piece, '/')
    return ('', '', False) if out is None else out

METHODS = {
    str: 'lower upper strip lstrip rstrip swapcase title capitalize casefold removeprefix '
         'removesuffix split replace encode join',
    bytes: 'decode lower upper strip hex replace join',
}
METHODS = {kind: names.split() for kind, names in METHODS.items()}
CODECS = ('utf-8', 'utf8', 'ascii', 'latin-1', 'latin1', 'hex', 'rot13', 'rot_13', 'base64')

def small(value):
    return not isinstance(value, (str, bytes, list)) or len(value) <= LONGEST

def folded_method(subject, name, args):
    # What a method of a constant text gives, as a value list.
    if name == 'format' and isinstance(subject, str):
        out = subject
        for index, arg in enumerate(args):
            out = out.replace('{%d}' % index, str(arg)).replace('{}', str(arg), 1)
        return [] if '{' in out else [constant(out)]
    if name not in METHODS.get(type(subject), ()) or not all(map(small, args)):
        return []
    if name == 'replace' and (len(args) != 2 or len(subject) * (len(args[1]) + 1) > 65536):
        return []
    if name in ('encode', 'decode') and args and args[0] not in CODECS[:5]:
        return []
    try:
        return [constant(getattr(subject, name)(*args))]
    except TimeoutError:
        raise
    except Exception:
        return []

def folded_call(name, args):
    # What a harmless function gives for constant arguments, as a value list.
    try:
        if name == 'chr' or name == 'str' and len(args) == 1 or name == 'bytes.fromhex':
            return [constant({'chr': chr, 'str': str, 'bytes.fromhex': bytes.fromhex}[name](*args))]
        if name in ('bytes', 'bytearray') and isinstance(args[0], (list, bytes)):
            return [constant(bytes(args[0]))]
        if name == 'str' and isinstance(args[0], bytes):
            return [constant(str(*args[:2]))]
        if name in ('base64.b64decode', 'base64.standard_b64decode'):
            import binascii
            return [constant(binascii.a2b_base64(args[0]))]
        if name in ('binascii.unhexlify', 'binascii.a2b_base64'):
            import binascii
            return [constant(getattr(binascii, name[9:])(args[0]))]
        if name == 'codecs.decode' and args[1] in CODECS:
            import codecs
            return [constant(codecs.decode(args[0], args[1]))]
        if name in ('bool', 'int') and len(args) == 1:
            return [constant({'bool': bool, 'int': int}[name](args[0]))]
        if name == 'shlex.split' and not set(args[0]) & set('\'"\\#'):
            return [constant(args[0].split())]
        if name == 'reversed' and isinstance(args[0], str):
            return [constant(list(args[0][::-1]))]
    except TimeoutError:
        raise
    except Exception:
        pass
    return []

def constant(value):
    if isinstance(value, (list, tuple)):
        return ('seq', [[constant(item)] for item in value[:256]])
    return ('const', value)

def plain(values):
    # The one constant that a value list represents, as (value,); None when it is not one.
    if len(values) != 1:
        return None
    kind, detail = values[0]
    if kind == 'seq':
        items = [plain(item) for item in detail]
        return None if None in items else ([item[0] for item in items],)
    return (detail,) if kind == 'const' else None
`;
