/**
 * The program that a Python script is started by. It is fixed text: the script itself comes over
 * descriptor 7, which is closed on exec, and so is in no argument list and in no file.
 *
 * Descriptor 7, a socket pair:
 *   runner → script   `LENGTH\n` and the script, then answers `ID JSON\n`
 *   script → runner   calls `ID JSON\n`; ID rises from 1, JSON is `{"tool":…,"arguments":{…}}` or
 *                     `{"list":true}`
 */

/** The descriptor that the script and its calls go over. */
export const scriptFd = 7;
/** What a script is called in tracebacks, as the policy's parser calls it. */
export const scriptName = '<script>';

export const pythonBoot = String.raw`
import linecache, os, sys

def start(fd, name, most):
    os.set_inheritable(fd, False)
    os.set_blocking(fd, True)

    def exactly(count):
        parts = []
        while count > 0:
            part = os.read(fd, count)
            if not part:
                os._exit(125)
            parts.append(part)
            count -= len(part)
        return b''.join(parts)

    size = b''
    while not size.endswith(b'\n'):
        size += exactly(1)
    text = exactly(int(size)).decode('utf-8-sig')

    class Error(Exception):
        """A call that was refused or failed; code is the runtime's name for why."""

        def __init__(self, code, message, data=None):
            super().__init__('%s [%s]' % (message, code))
            self.code, self.message, self.data = code, message, data

    class Channel:
        def __init__(self):
            import json, threading
            self.json, self.turn = json, threading.Condition()
            self.sending = threading.Lock()
            self.last, self.is_reading, self.is_open = 0, False, True
            self.answers, self.rest = {}, b''

        def end(self):
            import threading
            self.is_open, self.turn, self.sending = False, threading.Condition(), threading.Lock()

        def ask(self, call):
            body = self.json.dumps(call).encode('ascii')
            if len(body) > most:
                reason = 'Cannot call a tool: the call is over %d bytes' % most
                raise Error('QUOTA_EXCEEDED', reason)
            with self.turn:
                self.last += 1
                number = self.last
                # Its descriptor may be another file's by now.
                if not self.is_open:
                    return self.answer(number)
            line = b'%d %s\n' % (number, body)
            try:
                with self.sending:
                    while line:
                        line = line[os.write(fd, line):]
            except OSError:
                self.is_open = False
            return self.answer(number)

        def answer(self, number):
            with self.turn:
                while number not in self.answers:
                    if not self.is_open:
                        reason = 'Cannot call a tool: the runtime does not take calls any more'
                        raise Error('BACKEND_UNAVAILABLE', reason)
                    if self.is_reading:
                        self.turn.wait()
                    else:
                        self.read()
                found = self.answers.pop(number)
            if found.get('ok') is True:
                return found.get('result')
            error = found.get('error') or {}
            code, message = error.get('code', 'INTERNAL_ERROR'), error.get('message', '')
            raise Error(code, message, found.get('data'))

        def read(self):
            # One thread reads for all; the others wait until it has something for them.
            self.is_reading = True
            self.turn.release()
            lines, is_open = [], True
            try:
                while not lines and is_open:
                    part = os.read(fd, 1 << 16)
                    is_open = len(part) > 0
                    *lines, self.rest = (self.rest + part).split(b'\n')
            except OSError:
                is_open = False
            finally:
                self.turn.acquire()
                self.is_reading = False
                self.is_open = self.is_open and is_open
                self.turn.notify_all()
            for line in lines:
                number, _, body = line.partition(b' ')
                self.answers[int(number)] = self.json.loads(body)

    found, gone = [], []

    def channel():
        if not found:
            found.append(Channel())
            if gone:
                found[0].is_open = False
        return found[0]

    def forked():
        # A copy is another process: what it calls would be taken for this one's.
        try:
            os.close(fd)
        except OSError:
            pass
        gone.append(True)
        if found:
            found[0].end()

    os.register_at_fork(after_in_child=forked)

    def call(tool, arguments=None, /, **named):
        """Calls a tool of the runtime and returns its result."""
        given = {**(arguments or {}), **named}
        return channel().ask({'tool': tool, 'arguments': given})

    def tools():
        """What can be called: name, title, description and input schema of each."""
        return channel().ask({'list': True})

    rpc = type(sys)('rpc', 'Calls the tools of the runtime that runs this script.')
    rpc.Error, rpc.call, rpc.tools = Error, call, tools
    rpc.__all__ = ['Error', 'call', 'tools']
    Error.__module__, Error.__qualname__ = 'rpc', 'Error'
    sys.modules['rpc'] = rpc

    def shown(kind, error, trace):
        # What a person reads begins in the script.
        import traceback
        while trace is not None and trace.tb_frame.f_code.co_filename == '<string>':
            trace = trace.tb_next
        traceback.print_exception(kind, error, trace)

    sys.excepthook = shown
    sys.argv = [name]
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    # What is printed is shown as it comes, and is there when the script is ended.
    sys.stdout.reconfigure(line_buffering=True)
    main = type(sys)('__main__')
    main.__builtins__ = __builtins__
    before = sys.modules['__main__']
    sys.modules['__main__'] = main
    rpc.__dict__['_before'] = before
    exec(compile(text, name, 'exec', dont_inherit=True), main.__dict__)
`;
