"""A client of the Terminal Runtime Layer: one file, standard library only, Python 3.9 or newer.

    import trl

    with trl.connect() as client, client.create_session() as session:
        print(session.run("echo hello").stdout)

``connect()`` speaks to the daemon's Unix socket; ``connect(url=..., token=...)`` speaks HTTP. A
command's non-zero exit and its time-out are answers; :class:`TrlError` is raised where the runtime
refuses or fails, with the code it gave. A command is not run twice through a lost connection: each
call has an ``exec_key``, by which a repetition attaches to the first execution.

Objects may be used from several threads; one :class:`Stream` is for one thread at a time.
"""

# The classes of this file use each other's parts that no program should.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import base64
import codecs
import contextlib
import functools
import http.client
import io
import ipaddress
import json
import os
import secrets
import selectors
import shutil
import socket
import ssl
import stat
import subprocess
import threading
import time
import urllib.parse
from dataclasses import dataclass, field
from types import TracebackType
from typing import (
    TYPE_CHECKING,
    Any,
    Dict,
    Generator,
    Iterable,
    Iterator,
    List,
    Mapping,
    Optional,
    Sequence,
    Tuple,
    Type,
    TypedDict,
    TypeVar,
    Union,
    cast,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = [
    "Client",
    "Gap",
    "Output",
    "Receipt",
    "Session",
    "Stream",
    "TrlError",
    "Waiting",
    "connect",
]
__version__ = "0.1.0"

Json = Dict[str, Any]

_LINE_BYTES_MAX = 1 << 30
"""Of one answer: 64 MiB of output in both streams, escaped, fit."""
_READ_BYTES = 1 << 18
_GREETING_ID = "hello"
_GREETING = b'{"id":"hello","method":"system.hello","params":{"protocol":"trl/2"}}\n'
_IDLE_CONNECTIONS_MAX = 4
_CALL_SECONDS = 60.0
"""How long a call that waits for nothing is waited for."""
_RECONNECT_SECONDS = 15.0
"""How long a lost connection is tried again without progress."""
_BACKOFF_SECONDS = (0.02, 1.0)
_SILENCE_SECONDS = 60.0
"""An HTTP stream sends a comment each 15 s: one that is silent for so long is lost."""
_ABANDON_SECONDS = 5.0
_OUTPUT_BYTES = 4 * 1024 * 1024
_OUTPUT_BYTES_MAX = 64 * 1024 * 1024


class TrlError(Exception):
    """The runtime refused or failed. Branch on ``code``, never on the text."""

    def __init__(self, code: str, message: str, data: Optional[Json] = None) -> None:
        super().__init__(f"{message} [{code}]")
        self.code = code
        self.message = message
        self.data: Json = {} if data is None else data


class _Lost(TrlError):
    """The connection ended before the answer."""

    def __init__(self, reason: str) -> None:
        super().__init__("BACKEND_UNAVAILABLE", f"Cannot ask the runtime: {reason}")


class ExecOptions(TypedDict, total=False):
    """What ``run``, ``stream`` and ``start`` take besides the command: the wire's own names."""

    cwd: str
    env: Mapping[str, str]
    env_keys: Sequence[str]
    reveal: Sequence[str]
    language: str
    timeout_s: float
    timeout_ms: int
    idle_timeout_ms: int
    grace_ms: int
    stdin: Union[str, bytes]
    stdin_encoding: str
    stdin_open: bool
    pty: Mapping[str, int]
    limits: Mapping[str, int]
    exec_key: str
    wait_ms: int
    workspace_mode: str
    policy: str


class SessionOptions(TypedDict, total=False):
    """What ``create_session`` takes: the wire's own names."""

    shell: str
    env: Mapping[str, str]
    env_keys: Sequence[str]
    working_dir: str
    name: str
    timeout_s: float
    timeout_ms: int
    files: Mapping[str, Mapping[str, Sequence[str]]]
    network: str
    sandbox: str
    limits: Mapping[str, int]
    carry: str
    policy: str
    workspace_id: str
    workspace_mode: str
    umask: str
    search_path: str
    share_cache: List[str]


def _umask() -> Dict[str, str]:
    """The file mode mask of this process, where it is not the runtime's own."""
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as status:
            digits = next(line.split()[1] for line in status if line.startswith("Umask:"))
    except (OSError, StopIteration, IndexError):
        return {}
    return {} if digits == "0022" else {"umask": digits}


def _refuse_unknown(options: Iterable[str], known: Iterable[str], what: str) -> None:
    # The runtime passes over what it does not know: a bound that was misspelt would be none.
    unknown = sorted(set(options) - set(known))
    if unknown:
        names = ", ".join(sorted(known))
        raise TypeError(f"{what} does not take {', '.join(unknown)}; it takes {names}")


@dataclass(frozen=True)
class Output:
    """Bytes of one stream, the first of which has ``offset`` in the execution's journal."""

    stream: str
    offset: int
    data: bytes

    @property
    def text(self) -> str:
        """The bytes as text; what is no UTF-8, or cut, shows as U+FFFD."""
        return self.data.decode("utf-8", "replace")


@dataclass(frozen=True)
class Gap:
    """Journal bytes from ``start`` up to ``end`` are no longer held."""

    start: int
    end: int


@dataclass(frozen=True)
class Waiting:
    """The command waits for input."""

    pid: int
    program: str
    certain: bool


Event = Union[Output, Gap, Waiting]


@dataclass(frozen=True)
class Receipt:
    """The answer to one command. ``raw`` is all of it, as it came."""

    exec_id: str
    session_id: str
    exit_code: int
    signal: Optional[str]
    timed_out: bool
    stopped: Optional[str]
    duration_ms: int
    cwd: Optional[str]
    stdout: str
    stderr: str
    stdout_data: bytes
    stderr_data: bytes
    truncated: bool
    stdout_omitted_bytes: int
    stderr_omitted_bytes: int
    hints: Tuple[str, ...]
    warnings: Tuple[str, ...]
    changes: Tuple[Json, ...]
    raw: Json = field(repr=False)

    @property
    def ok(self) -> bool:
        """Whether the command ended with 0."""
        return self.exit_code == 0


class _Deadline:
    """Until when something is waited for; ``None`` seconds: without an end."""

    def __init__(self, seconds: Optional[float]) -> None:
        self._end = None if seconds is None else time.monotonic() + seconds

    def left(self) -> Optional[float]:
        """Seconds that are left. Raises ``TimeoutError`` when none are."""
        if self._end is None:
            return None
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError("the deadline is over")
        return left


# --- the wire over a Unix socket -----------------------------------------------------------------


class _Lines:
    """A connection of JSON lines."""

    def __init__(self, path: str, deadline: _Deadline) -> None:
        self._rest = bytearray()
        self._has_greeted = False
        self._is_greeted = False
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.settimeout(deadline.left())
            self._socket.connect(path)
        except socket.timeout:
            self._socket.close()
            raise TimeoutError("the deadline is over") from None
        except OSError as error:
            self._socket.close()
            raise _Lost(f'no runtime answers on "{path}" ({error.strerror}); start `trl serve`')

    def send(self, message: Json, deadline: _Deadline) -> None:
        line = json.dumps(message, separators=(",", ":"), allow_nan=False).encode() + b"\n"
        if not self._has_greeted:
            # Who does not greet gets text in place of bytes. In one go with the first request.
            self._has_greeted = True
            line = _GREETING + line
        try:
            self._socket.settimeout(deadline.left())
            self._socket.sendall(line)
        except socket.timeout:
            raise TimeoutError("the deadline is over") from None
        except OSError as error:
            raise _Lost(f"the connection was lost ({error.strerror})") from error

    def line(self, deadline: _Deadline) -> Json:
        answer = self._line(deadline)
        if not self._is_greeted and answer.get("id") == _GREETING_ID:
            self._is_greeted = True
            return self._line(deadline)
        return answer

    def _line(self, deadline: _Deadline) -> Json:
        seen = 0
        while True:
            end = self._rest.find(b"\n", seen)
            if end >= 0:
                line = bytes(self._rest[:end])
                del self._rest[: end + 1]
                return _object(line)
            seen = len(self._rest)
            if seen > _LINE_BYTES_MAX:
                raise _Lost(f"an answer is longer than {_LINE_BYTES_MAX} bytes")
            self._rest += self._receive(deadline)

    def _receive(self, deadline: _Deadline) -> bytes:
        try:
            self._socket.settimeout(deadline.left())
            data = self._socket.recv(_READ_BYTES)
        except socket.timeout:
            raise TimeoutError("the deadline is over") from None
        except OSError as error:
            raise _Lost(f"the connection was lost ({error.strerror})") from error
        if not data:
            raise _Lost("the runtime ended the connection")
        return data

    def is_usable(self) -> bool:
        return not self._rest and not _is_readable(self._socket)

    def close(self) -> None:
        self._socket.close()


class _SocketTransport:
    """Each call has a connection to itself, so that one that waits holds no other back."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._idle: List[_Lines] = []
        self._lock = threading.Lock()

    def call(self, method: str, params: Json, deadline: _Deadline) -> Json:
        connection = self._take(deadline)
        try:
            connection.send({"id": "1", "method": method, "params": params}, deadline)
            answer = connection.line(deadline)
        except BaseException:
            connection.close()
            raise
        self._give_back(connection)
        return _data(answer)

    def events(self, opening: _Opening, deadline: _Deadline) -> Generator[Json, None, None]:
        """The answer of the opening call, then its events, to the end of the connection."""
        connection = _Lines(self._path, deadline)
        try:
            message = {"id": "1", "method": opening.method, "params": opening.params}
            connection.send(message, deadline)
            yield _data(connection.line(deadline))
            while True:
                yield connection.line(deadline)
        finally:
            connection.close()

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _take(self, deadline: _Deadline) -> _Lines:
        while True:
            with self._lock:
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                return _Lines(self._path, deadline)
            if connection.is_usable():
                return connection
            connection.close()

    def _give_back(self, connection: _Lines) -> None:
        with self._lock:
            if len(self._idle) < _IDLE_CONNECTIONS_MAX:
                self._idle.append(connection)
                return
        connection.close()


# --- the wire over HTTP --------------------------------------------------------------------------


class _HttpTransport:
    """Calls by ``POST /rpc``, streams by server-sent events."""

    def __init__(self, url: str, token: str, tls: Optional[ssl.SSLContext]) -> None:
        place = urllib.parse.urlsplit(url)
        if place.scheme not in ("http", "https") or not place.hostname:
            raise ValueError(f"Cannot connect to {url!r}: it must be an http or https URL")
        if place.username is not None or place.query or place.fragment:
            raise ValueError("Cannot connect: a URL holds no credentials, query or fragment")
        if place.scheme == "http" and not _is_loopback(place.hostname):
            raise ValueError(f"Cannot send a token to {url!r} in clear text: use https")
        if not token or any(not 33 <= ord(letter) <= 126 for letter in token):
            raise ValueError("Cannot connect: the token must be ASCII without spaces")
        self._host = place.hostname
        self._port = place.port or (443 if place.scheme == "https" else 80)
        self._prefix = place.path.rstrip("/")
        self._tls = (tls or ssl.create_default_context()) if place.scheme == "https" else None
        self._headers = {"Authorization": f"Bearer {token}"}
        self._idle: List[http.client.HTTPConnection] = []
        self._lock = threading.Lock()

    def call(self, method: str, params: Json, deadline: _Deadline) -> Json:
        connection = self._take(deadline)
        body = {"id": "1", "method": method, "params": params}
        try:
            response = self._send(connection, _Message("POST", "/rpc", body), deadline)
            answer = _object(_body(response))
        except BaseException:
            connection.close()
            raise
        self._give_back(connection, response)
        return _data(answer)

    def events(self, opening: _Opening, deadline: _Deadline) -> Generator[Json, None, None]:
        connection = self._dial(deadline)
        try:
            response = self._send(connection, opening.over_http(), deadline)
            if _media_type(response) != "text/event-stream":
                _data(_object(_body(response)))
                raise _Lost(f"it answered {response.status} where events were wanted")
            made = (response.getheader("Location") or "").rpartition("/")[2]
            yield {"exec_id": made} if made else {}
            yield from _server_sent(response, deadline)
        finally:
            connection.close()

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _send(
        self, connection: http.client.HTTPConnection, message: _Message, deadline: _Deadline
    ) -> _Response:
        headers = {**self._headers, "Accept": message.accept}
        body = None
        if message.body is not None:
            body = json.dumps(message.body, separators=(",", ":"), allow_nan=False).encode()
            headers["Content-Type"] = "application/json"
        setattr(connection, "response_class", functools.partial(_Response, deadline))
        try:
            if connection.sock is not None:
                connection.sock.settimeout(deadline.left())
            connection.request(message.method, self._prefix + message.path, body, headers)
            response = connection.getresponse()
        except (socket.timeout, TimeoutError):
            raise TimeoutError("the deadline is over") from None
        except (OSError, http.client.HTTPException) as error:
            raise _Lost(f"the connection was lost ({_reason(error)})") from error
        assert isinstance(response, _Response)
        return response

    def _dial(self, deadline: _Deadline) -> http.client.HTTPConnection:
        left = deadline.left()
        if self._tls is None:
            connection = http.client.HTTPConnection(self._host, self._port, timeout=left)
        else:
            connection = http.client.HTTPSConnection(
                self._host, self._port, timeout=left, context=self._tls
            )
        try:
            connection.connect()
        except socket.timeout:
            raise TimeoutError("the deadline is over") from None
        except ssl.SSLCertVerificationError as error:
            raise TrlError(
                "AUTH_FAILED", f"Cannot trust {self._host}: {error.verify_message}"
            ) from error
        except OSError as error:
            raise _Lost(f"nobody answers on {self._host}:{self._port} ({_reason(error)})")
        return connection

    def _take(self, deadline: _Deadline) -> http.client.HTTPConnection:
        while True:
            with self._lock:
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                return self._dial(deadline)
            # One that the other side ended says so by being readable.
            if connection.sock is not None and not _is_readable(connection.sock):
                return connection
            connection.close()

    def _give_back(
        self, connection: http.client.HTTPConnection, response: http.client.HTTPResponse
    ) -> None:
        with self._lock:
            if not response.will_close and len(self._idle) < _IDLE_CONNECTIONS_MAX:
                self._idle.append(connection)
                return
        connection.close()


_Transport = Union[_SocketTransport, _HttpTransport]


@dataclass(frozen=True)
class _Message:
    method: str
    path: str
    body: Optional[Json] = None
    accept: str = "application/json"


@dataclass(frozen=True)
class _Opening:
    """What opens a stream: ``exec.stream`` or ``exec.attach``."""

    method: str
    params: Json

    def over_http(self) -> _Message:
        accept = "text/event-stream"
        if self.method == "exec.attach":
            exec_id = urllib.parse.quote(self.params["exec_id"], safe="")
            path = f"/v1/execs/{exec_id}/stream?from={self.params['from']}"
            return _Message("GET", path, accept=accept)
        return _Message("POST", "/v1/execs?mode=stream", self.params, accept)


class _Timed(io.RawIOBase):
    """What a connection reads. No read waits past the deadline, however slowly bytes drip in."""

    def __init__(self, raw: io.RawIOBase, sock: socket.socket, deadline: _Deadline) -> None:
        self._raw = raw
        self._socket = sock
        self._deadline = deadline
        self.silence_s: Optional[float] = None
        """How long nothing at all may come; ``None``: the deadline alone counts."""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> Optional[int]:
        waits = (self._deadline.left(), self.silence_s)
        self._socket.settimeout(min((one for one in waits if one is not None), default=None))
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Response(http.client.HTTPResponse):
    """An answer whose status and headers, too, come within the deadline."""

    def __init__(self, deadline: _Deadline, sock: socket.socket, *args: Any, **more: Any) -> None:
        super().__init__(sock, *args, **more)
        self.timed = _Timed(self.fp.detach(), sock, deadline)
        self.fp = io.BufferedReader(self.timed)


def _server_sent(response: _Response, deadline: _Deadline) -> Iterator[Json]:
    """The data of each event; comments and other fields are passed over."""
    data: List[bytes] = []
    size = 0
    response.timed.silence_s = _SILENCE_SECONDS
    while True:
        deadline.left()
        try:
            line = response.readline(_LINE_BYTES_MAX)
        except (socket.timeout, TimeoutError):
            deadline.left()
            raise _Lost("the stream is silent") from None
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise _Lost(f"the connection was lost ({_reason(error)})") from error
        size += len(line)
        if size > _LINE_BYTES_MAX:
            raise TrlError("INTERNAL_ERROR", f"an event is longer than {_LINE_BYTES_MAX} bytes")
        if not line.endswith(b"\n"):
            raise _Lost("the runtime ended the connection")
        line = line.rstrip(b"\r\n")
        if line.startswith(b"data:"):
            data.append(line[5:].lstrip(b" "))
        elif not line:
            if data:
                yield _object(b"\n".join(data))
            data, size = [], 0


def _body(response: _Response) -> bytes:
    pieces: List[bytes] = []
    size = 0
    while True:
        try:
            piece = response.read(_READ_BYTES)
        except (socket.timeout, TimeoutError):
            raise TimeoutError("the deadline is over") from None
        except (OSError, http.client.HTTPException) as error:
            raise _Lost(f"the connection was lost ({_reason(error)})") from error
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)
        size += len(piece)
        if size > _LINE_BYTES_MAX:
            raise _Lost(f"an answer is longer than {_LINE_BYTES_MAX} bytes")


def _media_type(response: http.client.HTTPResponse) -> str:
    return (response.getheader("Content-Type") or "").split(";")[0].strip().lower()


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _is_readable(connection: socket.socket) -> bool:
    with selectors.DefaultSelector() as selector:
        selector.register(connection, selectors.EVENT_READ)
        return bool(selector.select(0))


def _reason(error: BaseException) -> str:
    return str(error) or type(error).__name__


def _object(text: bytes) -> Json:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _Lost("what it answered is not JSON") from error
    found = _json(value)
    if found is None:
        raise _Lost("what it answered is not a JSON object")
    return found


def _json(value: Any) -> Optional[Json]:
    """A JSON object, whose keys are text; ``None`` for anything else."""
    return cast("Json", value) if isinstance(value, dict) else None


def _data(answer: Json) -> Json:
    """The data of an envelope. Raises what it, or a problem in its place (RFC 9457), tells."""
    if answer.get("ok") is True:
        return _json(answer.get("data")) or {}
    error = _json(answer.get("error"))
    if error is None:
        error = {"code": answer.get("code"), "message": answer.get("detail")}
    raise TrlError(
        str(error.get("code") or "INTERNAL_ERROR"),
        str(error.get("message") or "the runtime failed"),
        _json(answer.get("data")),
    )


_T = TypeVar("_T")


def _field(answer: Json, name: str, kind: Type[_T]) -> _T:
    value = answer.get(name)
    if isinstance(value, kind):
        return value
    message = f'Cannot read what the runtime answered: "{name}" is no {kind.__name__}'
    raise TrlError("INTERNAL_ERROR", message)


def _objects(answer: Json, name: str) -> List[Json]:
    return cast("List[Json]", _field(answer, name, list))


@contextlib.contextmanager
def _reading() -> Generator[None, None, None]:
    """An answer that is not of the shape that is read is an error of the runtime."""
    try:
        yield
    except (LookupError, TypeError, ValueError, OverflowError) as error:
        message = f"Cannot read what the runtime answered: {type(error).__name__}"
        raise TrlError("INTERNAL_ERROR", message) from error


# --- what programs use ---------------------------------------------------------------------------


class Stream:
    """The output of one execution as it comes, through lost connections: it goes on at the byte
    after the last one taken, so that nothing is lost and nothing comes twice.

    Iterate it once, or ``collect()`` it. As a context manager it ends the command when it is left
    before the end, unless the command was attached to.
    """

    def __init__(self, client: Client, opening: _Opening, deadline: Optional[float]) -> None:
        self._client = client
        self._opening = opening
        self._deadline = _Deadline(deadline)
        self._is_own = opening.method == "exec.stream"
        self._is_begun = False
        self._is_over = False
        attached = opening.params.get("exec_id")
        self._exec_id: Optional[str] = attached if isinstance(attached, str) else None
        self._next = 0 if self._is_own else int(opening.params["from"])
        self._progressed = False
        self._ended: Optional[Json] = None
        self._events = self._all()

    @property
    def exec_id(self) -> Optional[str]:
        """Known once the first event, or the end, was taken."""
        return self._exec_id

    @property
    def offset(self) -> int:
        """The journal offset of the next byte: ``attach(exec_id, start=...)`` goes on there."""
        return self._next

    def __iter__(self) -> Iterator[Event]:
        return self._events

    def __enter__(self) -> Stream:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self._events.close()
        if self._is_own and self._is_begun and not self._is_over:
            self._abandon()

    def collect(self, output_bytes: int = _OUTPUT_BYTES) -> Receipt:
        """Takes all output that was not taken yet, and answers the receipt.

        Of each stream at most ``output_bytes`` are kept, the first half and the last.
        """
        most = max(0, min(output_bytes, _OUTPUT_BYTES_MAX))
        kept = {"stdout": _HeadAndTail(most), "stderr": _HeadAndTail(most)}
        for event in self._events:
            if isinstance(event, Output):
                kept[event.stream].add(event.data)
        if self._ended is None:
            raise TrlError("BACKEND_UNAVAILABLE", "Cannot tell the end: the stream was left")
        with _reading():
            return _receipt(self._ended, kept["stdout"].bytes(), kept["stderr"].bytes())

    def cancel(self, signal: Optional[str] = None) -> None:
        """Sends ``signal``, or without one ends the command: TERM, the grace time, KILL."""
        if self._exec_id is None:
            raise ValueError("Cannot cancel: the command is not known to have started")
        self._client.cancel(exec_id=self._exec_id, signal=signal)

    def _abandon(self) -> None:
        """Ends a command whose end nobody waits for."""
        self._is_over = True
        deadline = _Deadline(_ABANDON_SECONDS)
        try:
            if self._exec_id is None:
                # The key finds what a lost answer may have started.
                messages = self._client._transport.events(self._opening, deadline)
                self._note_id(next(messages))
                messages.close()
            if self._exec_id is not None:
                params = {"exec_id": self._exec_id}
                self._client._transport.call("exec.cancel", params, deadline)
                self._wait_for_end(deadline)
        except (TrlError, TimeoutError, StopIteration):
            pass

    def _wait_for_end(self, deadline: _Deadline) -> None:
        """The session is free for the next command then."""
        start = self._next
        while True:
            params = {"exec_id": self._exec_id, "from": start, "wait_ms": 1000}
            read = self._client._transport.call("exec.read", params, deadline)
            if _field(read, "state", str) not in ("waiting", "running"):
                return
            start = _field(read, "next", int)

    def _all(self) -> Generator[Event, None, None]:
        patience = _Patience(self._deadline)
        self._is_begun = True
        try:
            while True:
                begun = time.monotonic()
                try:
                    yield from self._attempt()
                    return
                except _Lost as error:
                    patience.wait(error, begun, self._has_progressed())
        except TrlError:
            self._is_over = True
            raise
        except TimeoutError:
            if self._is_own:
                self._abandon()
            raise

    def _has_progressed(self) -> bool:
        progressed, self._progressed = self._progressed, False
        return progressed

    def _attempt(self) -> Iterator[Event]:
        """One connection's worth. Raises when it ends before the stream does."""
        opening = self._opening
        if self._exec_id is not None:
            opening = _Opening("exec.attach", {"exec_id": self._exec_id, "from": self._next})
        messages = self._client._transport.events(opening, self._deadline)
        try:
            for message in messages:
                self._note_id(message)
                with _reading():
                    taken = list(self._take(message))
                yield from taken
                if self._ended is not None:
                    return
        finally:
            messages.close()

    def _note_id(self, message: Json) -> None:
        known = message.get("exec_id") or message.get("stream_id")
        if isinstance(known, str):
            self._exec_id = known

    def _take(self, message: Json) -> Iterator[Event]:
        kind = message.get("stream")
        if kind in ("stdout", "stderr"):
            yield from self._output(message)
        elif kind == "gap":
            yield from self._skip_to(int(message["to"]))
        elif kind == "status" and "waiting_for_input" in message:
            found = message["waiting_for_input"]
            yield Waiting(found["pid"], found["program"], found["certain"])
        elif kind == "exit":
            if message.get("lost") is True:
                _data({"ok": False, "error": message["error"], "data": message.get("data")})
            yield from self._skip_to(int(message["seq"]))
            self._ended, self._is_over = message, True

    def _output(self, message: Json) -> Iterator[Event]:
        if "b64" in message:
            data = base64.b64decode(message["b64"], validate=True)
        else:
            data = str(message["data"]).encode("utf-8", "surrogatepass")
        offset = int(message["seq"])
        yield from self._skip_to(offset)
        fresh = data[self._next - offset :]
        if fresh:
            start, self._next = self._next, self._next + len(fresh)
            self._progressed = True
            yield Output(message["stream"], start, fresh)

    def _skip_to(self, offset: int) -> Iterator[Event]:
        """Bytes that are missing are told, whether or not the runtime did."""
        if offset > self._next:
            start, self._next = self._next, offset
            self._progressed = True
            yield Gap(start, offset)


class Session:
    """One session: where commands run, and what carries from one to the next.

    As a context manager it destroys the session, with what runs in it.
    """

    def __init__(self, client: Client, session_id: str) -> None:
        self._client = client
        self.id = session_id

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        try:
            self.destroy(force=True)
        except TrlError as failure:
            # It may be gone already; an error that is on its way is not to be hidden.
            if kind is None and failure.code != "SESSION_NOT_FOUND":
                raise

    def run(
        self,
        command: str,
        *,
        deadline: Optional[float] = None,
        output_bytes: int = _OUTPUT_BYTES,
        **options: Unpack[ExecOptions],
    ) -> Receipt:
        """Runs a command to its end. A non-zero exit and a time-out (124) are answers.

        After ``deadline`` seconds the command is ended and ``TimeoutError`` raised; a bound on the
        command itself is ``timeout_s``. Raises :class:`TrlError` where policy refuses
        (``POLICY_DENIED``), a person must decide first (``APPROVAL_REQUIRED``, with ``approval_id``
        and ``exec_id`` in ``data``; ``wait_ms`` waits for them), or no truthful receipt can be had.
        """
        with self.stream(command, deadline=deadline, **options) as stream:
            return stream.collect(output_bytes)

    def stream(
        self, command: str, *, deadline: Optional[float] = None, **options: Unpack[ExecOptions]
    ) -> Stream:
        """Runs a command and gives its output as it comes. It starts with the first event taken."""
        opening = _Opening("exec.stream", self._params(command, options))
        return Stream(self._client, opening, deadline)

    def start(self, command: str, **options: Unpack[ExecOptions]) -> str:
        """Starts a command beside others that outlives this client; answers its ``exec_id``."""
        return _field(self._client._start(self._params(command, options)), "exec_id", str)

    def info(self) -> Json:
        return self._client.call("session.info", {"session_id": self.id})

    def state(self) -> Json:
        """The directory and the names of the variables that the next command gets."""
        return self._client.call("session.state", {"session_id": self.id})

    def update(self, **changes: Any) -> Json:
        """Changes ``name``, ``timeout_s``, ``env`` or ``unset`` (names of variables)."""
        return self._client.call("session.update", {**changes, "session_id": self.id})

    def fork(self, name: Optional[str] = None) -> Session:
        """A new session that begins where this one stands."""
        params = _given(session_id=self.id, name=name)
        made = self._client.call("session.fork", params)
        return Session(self._client, _field(made, "session_id", str))

    def diff(self, **params: Any) -> Json:
        """What its commands changed, net, as a unified diff."""
        return self._client.call("workspace.diff", {**params, "session_id": self.id})

    def destroy(self, force: bool = False) -> None:
        """Ends the session. One that runs a command is refused unless ``force``."""
        self._client.call("session.destroy", {"session_id": self.id, "force": force})

    def _params(self, command: str, options: ExecOptions) -> Json:
        _refuse_unknown(options, ExecOptions.__annotations__, "a command")
        params: Json = {"exec_key": secrets.token_hex(16), **options}
        stdin = params.get("stdin")
        if isinstance(stdin, bytes):
            params["stdin"] = base64.b64encode(stdin).decode("ascii")
            params["stdin_encoding"] = "base64"
        return {**params, "session_id": self.id, "command": command}


class Client:
    """A connection to a runtime. ``close()`` it, or use it as a context manager."""

    def __init__(self, transport: _Transport, call_seconds: Optional[float]) -> None:
        self._transport = transport
        self._call_seconds = call_seconds

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    def call(self, method: str, params: Optional[Json] = None, deadline: Any = ...) -> Json:
        """Asks for any method of the wire but streams.

        ``deadline`` in seconds, ``None`` without end; default that of ``connect``. What a call
        itself waits for (``wait_ms``, ``timeout_s`` ...) is added to it.
        """
        given = {} if params is None else params
        seconds = self._call_seconds if deadline is ... else deadline
        if seconds is not None and deadline is ...:
            seconds += _waits(method, given)
        return self._transport.call(method, given, _Deadline(seconds))

    def ping(self) -> Json:
        return self.call("system.ping")

    def create_session(self, **options: Unpack[SessionOptions]) -> Session:
        """Makes a session; ``options`` are the parameters of ``session.create``."""
        _refuse_unknown(options, SessionOptions.__annotations__, "a session")
        made = self.call("session.create", {**_umask(), **options})
        return Session(self, _field(made, "session_id", str))

    def session(self, session_id: str) -> Session:
        """A session that exists. Nothing is asked: an unknown id fails at the first use."""
        return Session(self, session_id)

    def sessions(self) -> List[Json]:
        return _objects(self.call("session.list"), "sessions")

    def attach(self, exec_id: str, start: int = 0, deadline: Optional[float] = None) -> Stream:
        """The output of an execution from a journal offset on, to its end."""
        opening = _Opening("exec.attach", {"exec_id": exec_id, "from": start})
        return Stream(self, opening, deadline)

    def execs(self, session_id: Optional[str] = None) -> List[Json]:
        return _objects(self.call("exec.list", _given(session_id=session_id)), "execs")

    def exec(self, exec_id: str) -> Json:
        return self.call("exec.info", {"exec_id": exec_id})

    def read(self, exec_id: str, **params: Any) -> Json:
        """A piece of the journal: ``start``, ``max``, ``wait_ms``, ``until``, ``grep``, ``tail``."""
        if "start" in params:
            params["from"] = params.pop("start")
        return self.call("exec.read", {**params, "exec_id": exec_id})

    def write(self, exec_id: str, data: Union[str, bytes] = b"", eof: bool = False) -> int:
        """Writes to the standard input of a command started with ``stdin_open``; answers bytes."""
        raw = data.encode() if isinstance(data, str) else data
        encoded = base64.b64encode(raw).decode("ascii")
        params = {"exec_id": exec_id, "data": encoded, "encoding": "base64", "eof": eof}
        return _field(self.call("exec.write", params), "bytes", int)

    def resize(self, exec_id: str, columns: int, rows: int) -> None:
        self.call("exec.resize", {"exec_id": exec_id, "columns": columns, "rows": rows})

    def cancel(
        self,
        exec_id: Optional[str] = None,
        session_id: Optional[str] = None,
        signal: Optional[str] = None,
    ) -> List[str]:
        """Ends a command, or what runs in a session, or sends a signal; answers their ids."""
        params = _given(exec_id=exec_id, session_id=session_id, signal=signal)
        return cast("List[str]", _field(self.call("exec.cancel", params), "stopped", list))

    def explain(self, command: str, session_id: Optional[str] = None) -> Json:
        """What policy would say of a command; nothing runs."""
        return self.call("policy.explain", _given(command=command, session_id=session_id))

    def approvals(
        self, state: Optional[str] = None, session_id: Optional[str] = None
    ) -> List[Json]:
        """Questions to people, oldest first."""
        params = _given(state=state, session_id=session_id)
        return _objects(self.call("approval.list", params), "approvals")

    def approval(self, approval_id: str) -> Json:
        return self.call("approval.get", {"approval_id": approval_id})

    def decide(self, approval_id: str, decision: str, digest: str, **more: Any) -> Json:
        """Answers a question: ``"approve"`` or ``"deny"``, by the digest that was seen."""
        named = {"approval_id": approval_id, "decision": decision, "digest": digest}
        return self.call("approval.decide", {**more, **named})

    def secrets(self) -> List[Json]:
        """Secrets by name; there is no way to read a value."""
        return _objects(self.call("secrets.list"), "secrets")

    def close(self) -> None:
        """Ends the connections. Commands and sessions go on."""
        self._transport.close()

    def _start(self, params: Json) -> Json:
        """The key makes a repetition attach to what a lost connection may have started."""
        patience = _Patience(_Deadline(None))
        while True:
            begun = time.monotonic()
            try:
                return self.call("exec.start", params)
            except _Lost as error:
                patience.wait(error, begun, False)


def connect(
    socket_path: Optional[str] = None,
    *,
    url: Optional[str] = None,
    token: Optional[str] = None,
    tls: Optional[ssl.SSLContext] = None,
    call_seconds: Optional[float] = _CALL_SECONDS,
) -> Client:
    """A client of the runtime on this machine, or at ``url`` with a ``token``.

    Without arguments: the socket ``$TRL_SOCKET_PATH``, else ``$XDG_RUNTIME_DIR/trl.sock``, else
    ``/tmp/trl-<uid>/trl.sock``. Where nothing listens there, the program ``trl`` starts the runtime
    of this user (not with ``TRL_START`` as ``private`` or ``never``), and the project of the current
    directory becomes one in which sessions may work. With ``https`` the certificate is checked by ``tls``, default the
    system's authorities; ``http`` is taken for loopback addresses only, as a token must not travel
    in clear text. ``call_seconds`` bounds each call besides what it asks to wait for.

    Raises :class:`TrlError` ``BACKEND_UNAVAILABLE`` when nobody answers, ``AUTH_FAILED`` when the
    token is refused or the socket's directory is another user's.
    """
    if url is None:
        if token is not None:
            raise ValueError("Cannot connect: a token belongs to a url")
        path = _default_socket() if socket_path is None else socket_path
        _check_directory(path)
        if socket_path is None and os.environ.get("TRL_START", "") in ("", "background"):
            return _of_user(path, call_seconds)
        client = Client(_SocketTransport(path), call_seconds)
    else:
        if socket_path is not None:
            raise ValueError("Cannot connect to a socket and a url: give one of them")
        if token is None:
            raise ValueError("Cannot connect to a url without a token")
        client = Client(_HttpTransport(url, token, tls), call_seconds)
    try:
        client.ping()
    except BaseException:
        client.close()
        raise
    return client


def _of_user(path: str, call_seconds: Optional[float]) -> Client:
    """The runtime that all programs of this user share, started where it does not run."""
    client = Client(_SocketTransport(path), call_seconds)
    try:
        try:
            client.ping()
        except _Lost:
            program = shutil.which("trl")
            if program is None:
                raise
            command = [program, "workspace", "trust", os.getcwd()]
            # It says what is wrong on standard error; the next call fails where it did not start.
            subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
            client.ping()
        try:
            client.call("workspace.trust", {"path": os.getcwd()})
        except TrlError as error:
            # What cannot be a project is no reason not to connect: a session there says why.
            if error.code not in ("INVALID_PARAMS", "WORKSPACE_ESCAPE"):
                raise
    except BaseException:
        client.close()
        raise
    return client


def _default_socket() -> str:
    named = os.environ.get("TRL_SOCKET_PATH")
    if named:
        return named
    directory = os.environ.get("XDG_RUNTIME_DIR")
    return f"{directory}/trl.sock" if directory else f"/tmp/trl-{os.getuid()}/trl.sock"


def _check_directory(path: str) -> None:
    """Whoever made ``/tmp/trl-<uid>``, or a socket in ``/tmp``, first could answer in the daemon's
    place."""
    directory = os.path.dirname(os.path.abspath(path))
    if directory != f"/tmp/trl-{os.getuid()}":
        _check_shared(path, directory)
        return
    try:
        found = os.lstat(directory)
    except FileNotFoundError:
        return
    private = stat.S_ISDIR(found.st_mode) and found.st_mode & 0o077 == 0
    if found.st_uid != os.getuid() or not private:
        raise TrlError(
            "AUTH_FAILED",
            f'Cannot trust the socket "{path}": "{directory}" must be a directory of this user '
            "with mode 0700",
        )


def _check_shared(path: str, directory: str) -> None:
    """In a directory that everybody may write the socket must be this user's, and no link."""
    try:
        shared, found = os.stat(directory), os.lstat(path)
    except OSError:
        return
    if shared.st_mode & 0o002 == 0:
        return
    problem = None
    if stat.S_ISLNK(found.st_mode):
        problem = "it is a link in a directory that everybody may write"
    elif found.st_uid != os.getuid():
        problem = f"it belongs to uid {found.st_uid}, not to uid {os.getuid()}"
    if problem is not None:
        raise TrlError("AUTH_FAILED", f'Cannot trust the socket "{path}": {problem}')


def _given(**params: Any) -> Json:
    return {name: value for name, value in params.items() if value is not None}


def _waits(method: str, params: Json) -> float:
    """Seconds that a call asks the runtime itself to wait; ``inf`` where it does not say."""
    seconds = float(params.get("wait_ms") or 0) / 1000
    if method != "exec.run":
        return seconds
    if params.get("timeout_ms"):
        return seconds + float(params["timeout_ms"]) / 1000
    return seconds + float(params.get("timeout_s") or 7 * 24 * 3600)


class _Patience:
    """Waits between attempts, longer each time, until 15 s passed without progress."""

    def __init__(self, deadline: _Deadline) -> None:
        self._deadline = deadline
        self._failing_since = time.monotonic()
        self._pause = 0.0

    def wait(self, error: _Lost, begun: float, progressed: bool) -> None:
        """Raises ``error`` when trying again is of no use. A long attempt was progress, too."""
        first, most = _BACKOFF_SECONDS
        now = time.monotonic()
        if self._pause == 0.0 or progressed or now - begun > most:
            self._failing_since, self._pause = now, first
        if now - self._failing_since > _RECONNECT_SECONDS:
            raise error
        left = self._deadline.left()
        time.sleep(self._pause if left is None else min(self._pause, left))
        self._pause = min(self._pause * 2, most)


class _HeadAndTail:
    """The first and the last bytes of a stream."""

    def __init__(self, most: int) -> None:
        self._half = most // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._is_cut = False

    def add(self, data: bytes) -> None:
        room = self._half - len(self._head)
        self._head += data[:room]
        self._tail += data[room:] if room > 0 else data
        if len(self._tail) > 2 * self._half + 4096:
            self._trim()

    def bytes(self) -> Tuple[bytes, int]:
        """What is kept, and how many bytes of it come before what is missing (-1: none is)."""
        self._trim()
        whole = bytes(self._head) + bytes(self._tail)
        return whole, len(self._head) if self._is_cut else -1

    def _trim(self) -> None:
        over = len(self._tail) - self._half
        if over > 0:
            del self._tail[:over]
            self._is_cut = True


def _without_cut(kept: Tuple[bytes, int]) -> bytes:
    """Drops the parts of characters that the omission cut in two, where all else is UTF-8."""
    data, cut = kept
    if cut < 0:
        return data
    head, tail = data[:cut], data[cut:]
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        text = decoder.decode(head)
    except UnicodeDecodeError:
        return data
    start = 0
    while start < min(3, len(tail)) and tail[start] & 0xC0 == 0x80:
        start += 1
    try:
        return text.encode() + tail[start:].decode().encode()
    except UnicodeDecodeError:
        return data


def _receipt(ended: Json, stdout: Tuple[bytes, int], stderr: Tuple[bytes, int]) -> Receipt:
    out, err = _without_cut(stdout), _without_cut(stderr)
    raw = {name: value for name, value in ended.items() if name not in ("seq", "stream", "lost")}
    out_omitted = max(0, int(raw["stdout_bytes"]) - len(out))
    err_omitted = max(0, int(raw["stderr_bytes"]) - len(err))
    return Receipt(
        exec_id=raw["exec_id"],
        session_id=raw["session_id"],
        exit_code=raw["exit_code"],
        signal=raw["signal"],
        timed_out=raw["timed_out"],
        stopped=raw["stopped"],
        duration_ms=raw["duration_ms"],
        cwd=raw["cwd"],
        stdout=out.decode("utf-8", "replace"),
        stderr=err.decode("utf-8", "replace"),
        stdout_data=out,
        stderr_data=err,
        truncated=out_omitted + err_omitted > 0,
        stdout_omitted_bytes=out_omitted,
        stderr_omitted_bytes=err_omitted,
        hints=tuple(raw["hints"]),
        warnings=tuple(raw["warnings"]),
        changes=tuple(raw["changes"]),
        raw=raw,
    )
