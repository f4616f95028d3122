"""The socket to the tracer: JSON lines out, requests in.

It never blocks (except where a caller asks for patience), and it survives the
program's own dealings with descriptors: the socket lives at a high number, so
that the program gets the low ones it would get without us, and before each use
it is checked to be still ours. A descriptor that the program closed, perhaps
to open something else under its number, is forgotten and never touched.
"""

import sys

from gpumem_agent.own import own

HIGH_FD = 700  # descriptors of ours start here when the limit allows
MAX_LINE = 1 << 20  # longer lines close the connection, by the protocol
MAX_FORMS = 64  # of samples that are remembered
CHUNK = 4096
IS_LINUX = sys.platform.startswith("linux")
NO_SIGNAL = 0x4000 if IS_LINUX else 0  # MSG_NOSIGNAL
SOL_SOCKET = 1  # Linux's
DO_ID = b'{"do":{"id":'  # as a request begins
SO_COOKIE = 57  # Linux: a number that no other socket ever has


class Closed(Exception):
    """There is no connection any more."""


class Connection:
    """One connection of one process. Safe for use by several threads."""

    def __init__(self, path):
        self.path = path
        self.dropped = 0  # lines that the tracer did not take in time
        self.ended = False  # by the tracer: for good, says the protocol
        self.refused = False  # nobody listened when it was opened
        self._socket = None
        self._cookie = self._identity = None
        self._sender = None
        self._rest = b""  # tail of a line that was sent in part
        self._inbox = b""
        self._lock = own.allocate_lock()
        self._senders = set()  # threads that are sending, or wait for it

    @property
    def is_lost(self):
        """Whether the tracer has gone."""
        return self.ended or self.refused

    @property
    def is_open(self):
        return self._socket is not None

    def open(self):
        """Connects. Returns whether it is connected now."""
        if self._socket is not None:
            return True
        import _socket  # not the socket module: it pulls in a dozen others

        if not hasattr(_socket, "AF_UNIX"):
            return False
        plain = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        try:
            plain.setblocking(False)
            plain.connect(self.path)
            fd = _raise_fd(plain.fileno())
        except OSError:
            plain.close()
            self.refused = True
            return False
        if fd != plain.fileno():
            plain.close()
            plain = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM, 0, fd)
            plain.setblocking(False)
        self._rest = self._inbox = b""
        self._cookie = _cookie(plain)
        self._identity = _identify(fd)
        self._socket = plain
        return True

    def close(self):
        """Closes our end, unless the program already did."""
        sock, self._socket = self._socket, None
        if sock is None:
            return
        fd = sock.detach()
        if _identify(fd) == self._identity:
            try:
                own.close(fd)
            except OSError:
                pass

    def send(self, *messages, patience=0.0, wait=True):
        """Sends messages, each as one line. What the tracer does not take
        within patience seconds is dropped and counted. wait=False also drops
        them when another thread is sending. Raises Closed when nobody
        listens."""
        line = "".join(encode(m) + "\n" for m in messages).encode("ascii")
        self._post(line, patience, wait)

    def send_sample(self, row, wait=True):
        """Sends the columns of a sample, all of them whole numbers."""
        columns = tuple(row)
        form = _FORMS.get(columns) or _form(columns)
        self._post((form % tuple(row.values())).encode("ascii"), 0.0, wait)

    def _post(self, line, patience, wait):
        if self._socket is None:
            raise Closed()
        # A signal handler of the program's may come between any two lines here, and may send
        # itself. So the thread is noted before it takes the lock, and a message within
        # another of the same thread is dropped where the lock is taken.
        me = own.get_ident()
        is_inner = me in self._senders
        if len(line) > MAX_LINE or self._lock.locked() and (is_inner or not wait):
            self.dropped += 1
            return
        try:
            self._senders.add(me)
            # Only a with statement takes a lock so that no signal handler of the
            # program's can raise between the taking and the promise to give back.
            with self._lock:
                left = line if self._rest else self._push(line)
                if left:
                    self._finish(line, left, patience)
        finally:
            if not is_inner:
                self._senders.discard(me)

    def _finish(self, line, left, patience):
        """Sends what the socket did not take at once of a line, or drops it whole;
        what is left of the line before it goes first."""
        deadline = own.monotonic() + patience
        if self._rest:
            self._rest = self._insist(self._rest, deadline)
            if self._rest:
                self.dropped += 1
                return
        left = self._insist(left, deadline)
        if len(left) == len(line):
            self.dropped += 1
        else:
            self._rest = left

    def _insist(self, data, deadline):
        """Sends what the socket takes until the deadline; returns the rest."""
        data = self._push(data)
        while data and own.monotonic() < deadline:
            own.sleep(0.002)
            data = self._push(data)
        return data

    def _push(self, data):
        """Sends what the socket takes now; returns the rest."""
        if self._sender is None and "ctypes" in sys.modules:
            self._sender = _Sender()
        while data:
            try:
                sock = self._checked()
                if self._sender is not None:
                    sent = self._sender.send(sock, data)
                else:
                    sent = sock.send(data, NO_SIGNAL)
                data = data[sent:]
            except BlockingIOError:
                break
            except InterruptedError:
                continue
            except OSError:
                self._end()
        return data

    def knock(self):
        """Has the tracer read now what was sent (see hello's key knocks). Where
        that fails it reads some hundredths of a second later."""
        import _socket

        try:
            plain = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
            try:
                plain.setblocking(False)
                plain.connect(self.path)
            finally:
                plain.close()
        except OSError:
            pass

    def receive(self, timeout=0.0):
        """The messages that have come, as dictionaries, after waiting up to
        timeout seconds for the first. Raises Closed at the end."""
        deadline = own.monotonic() + timeout
        while True:
            messages = self._take(deadline - own.monotonic())
            if messages or own.monotonic() >= deadline:
                return messages

    def _take(self, timeout):
        try:
            sock = self._checked()
            data = _wait(sock, timeout) if timeout > 0 else sock.recv(CHUNK)
        except (BlockingIOError, InterruptedError):
            return []
        except OSError:
            self._end()
        if not data or len(self._inbox) > MAX_LINE:
            self._end()
        lines = (self._inbox + data).split(b"\n")
        self._inbox = lines.pop()
        return [m for m in map(_decode, lines) if isinstance(m, dict)]

    def _end(self):
        """The tracer closed the connection."""
        self.ended = True
        self.close()
        raise Closed()

    def _checked(self):
        """The socket, if its descriptor is still the one we opened."""
        sock = self._socket
        if sock is None:
            raise Closed()
        if self._cookie is None:
            is_ours = _identify(sock.fileno()) == self._identity
        else:
            try:  # it does not let go of the interpreter's lock either
                is_ours = sock.getsockopt(SOL_SOCKET, SO_COOKIE, 8) == self._cookie
            except OSError:
                is_ours = False
        if not is_ours:
            self._socket = None
            sock.detach()  # not close: the number may be the program's now
            raise Closed()
        return sock


class _Sender:
    """send without letting go of the interpreter's lock, as all of Python's
    own ways do: to get it back costs the program more than the few
    microseconds in which a socket that never blocks takes a line."""

    def __init__(self):
        import ctypes

        self._ctypes = ctypes
        self._send = ctypes.PyDLL(None, use_errno=True).send
        size = ctypes.c_size_t
        self._send.argtypes = [ctypes.c_int, ctypes.c_char_p, size, ctypes.c_int]
        self._send.restype = ctypes.c_ssize_t

    def send(self, sock, data):
        sent = self._send(sock.fileno(), data, len(data), NO_SIGNAL)
        if sent < 0:
            raise OSError(self._ctypes.get_errno(), "send")
        return sent


def _wait(sock, timeout):
    """What comes within timeout seconds. The wait has an object of its own, for
    other threads of the program may send meanwhile, and must not wait."""
    import _socket

    waiting = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM, 0, sock.fileno())
    try:
        waiting.settimeout(timeout)
        return waiting.recv(CHUNK)
    except _socket.timeout:
        raise BlockingIOError() from None
    finally:
        waiting.detach()


def _cookie(sock):
    """The socket's number at the kernel's, None where there is none."""
    if not IS_LINUX:
        return None
    try:
        return sock.getsockopt(SOL_SOCKET, SO_COOKIE, 8)
    except OSError:
        return None


def _identify(fd):
    try:
        status = own.fstat(fd)
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_mode


def _raise_fd(fd):
    """A duplicate of fd at a high number, or fd itself when there is none."""
    try:
        import fcntl

        return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, HIGH_FD)
    except (ImportError, OSError):
        return fd


def _decode(line):
    """One line from the tracer. What is no JSON is ignored here: the tracer,
    not the program, decides about bad connections. The forms in which our tracer
    writes do not need json, whose import takes longer than all of the agent's."""
    if line.startswith(b'{"heard":'):
        return {"heard": {}}
    if line.startswith(DO_ID) and line.endswith(b'"}}'):
        number, _, action = line[len(DO_ID) : -3].partition(b',"action":"')
        if number.isdigit() and action.isalpha():
            return {"do": {"id": int(number), "action": action.decode()}}
    import json

    try:
        return json.loads(line.decode("utf-8", "replace"))
    except ValueError:
        return None


def encode(value):
    """JSON in ASCII, without importing json. None is not allowed: unknown
    values are left out by the caller."""
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, int):
        return "%d" % value
    if isinstance(value, float):
        return "%r" % value
    if isinstance(value, str):
        return _quote(value)
    if isinstance(value, dict):
        pairs = ("%s:%s" % (_quote(str(k)), encode(v)) for k, v in value.items())
        return "{%s}" % ",".join(pairs)
    if isinstance(value, (list, tuple)):
        return "[%s]" % ",".join(map(encode, value))
    raise TypeError("encode %s" % type(value).__name__)


_FORMS = {}  # of lines, by columns: samples mostly have the same


def _form(columns):
    form = _FORMS.get(columns)
    if form is None:
        if len(_FORMS) >= MAX_FORMS:
            _FORMS.clear()
        form = ",".join('"%s":%%d' % c.replace("%", "%%") for c in columns)
        form = _FORMS[columns] = '{"sample":{%s}}\n' % form
    return form


def _quote(text):
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return '"%s"' % text
    return '"%s"' % "".join(map(_escape, text))


def _escape(char):
    code = ord(char)
    if char in '"\\':
        return "\\" + char
    if 32 <= code < 127:
        return char
    if code > 0xFFFF:
        code -= 0x10000
        return "\\u%04x\\u%04x" % (0xD800 + (code >> 10), 0xDC00 + (code & 0x3FF))
    return "\\u%04x" % code
