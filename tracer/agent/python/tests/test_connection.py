"""The socket: lines, drops, and descriptors that the program took away."""

import json
import os
import socket
import sys
import tempfile
import unittest
import unittest.mock

from gpumem_agent import connection


class EncodeTest(unittest.TestCase):
    def test_what_is_encoded_is_json_for_the_same_value(self):
        values = [
            {"a": 1, "b": [True, False, -5, 1.5], "c": {}},
            'quote " and backslash \\ and newline \n and null \0',
            "ünïcode 内 and 🐍 beyond",
            {"path": "list train.history[…]"},
            1 << 62,
        ]
        for value in values:
            self.assertEqual(json.loads(connection.encode(value)), value)

    def test_an_unknown_value_is_an_error_and_never_a_zero(self):
        with self.assertRaises(TypeError):
            connection.encode({"pool_live_bytes": None})
        with self.assertRaises(TypeError):
            connection.Connection("").send_sample({"pool_live_bytes": None})


class Interrupted:
    """A lock beside whose taking or giving back a signal handler runs, once. To wait for it
    where the same thread has it is an error, and no end."""

    def __init__(self, moment, handler):
        self._moment, self._handler, self._is_taken = moment, handler, False

    def locked(self):
        return self._is_taken

    def _interrupt(self, moment):
        if moment == self._moment:
            self._moment = None
            self._handler()

    def __enter__(self):
        self._interrupt("before")
        if self._is_taken:
            raise AssertionError("the thread waits for itself")
        self._is_taken = True
        self._interrupt("taken")

    def __exit__(self, *_):
        self._interrupt("given")
        self._is_taken = False


class ConnectionTest(unittest.TestCase):
    """With Python's own send; by a subclass below, with the quick one."""

    quick = False

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = os.path.join(folder.name, "s")
        self.server = socket.socket(socket.AF_UNIX)
        self.addCleanup(self.server.close)
        self.server.bind(path)
        self.server.listen(5)
        self.connection = connection.Connection(path)
        self.assertTrue(self.connection.open())
        self.addCleanup(self.connection.close)
        self.peer, _ = self.server.accept()
        if self.quick:
            self.connection._sender = connection._Sender()
        else:
            self.connection._cookie = None  # also without Linux's
            modules = unittest.mock.patch.dict("sys.modules")
            modules.start()
            self.addCleanup(modules.stop)
            sys.modules.pop("ctypes", None)
        self.addCleanup(self.peer.close)

    def test_a_signal_handler_that_sends_within_a_message_never_waits_for_it(self):
        for moment in ("before", "taken", "given"):
            with self.subTest(moment):
                dropped = self.connection.dropped
                lock = Interrupted(moment, lambda: self.connection.send({"inner": moment}))
                self.connection._lock = lock
                self.connection.send({"outer": moment})
                self.assertFalse(lock.locked() or self.connection._senders)
                said = self.peer.recv(4096).decode().splitlines()
                self.assertIn('{"outer":"%s"}' % moment, said)
                self.assertEqual(len(said) + self.connection.dropped - dropped, 2)

    def test_a_message_is_one_line(self):
        self.connection.send({"mark": {"name": "a\nb"}})
        line = self.peer.recv(1000)
        self.assertEqual(json.loads(line), {"mark": {"name": "a\nb"}})
        self.assertEqual(line.count(b"\n"), 1)

    def test_a_sample_is_encoded_as_any_other_dictionary(self):
        rows = [{"pool_live_bytes": 1 << 40, "pool_live_bytes@0": 0, "t_ns": -1}]
        rows += [{"odd%d%%" % number: number} for number in range(2 * connection.MAX_FORMS)]
        for row in rows:
            self.connection.send_sample(row)
            self.assertEqual(json.loads(self.peer.recv(1000)), {"sample": row})
        self.assertLessEqual(len(connection._FORMS), connection.MAX_FORMS)

    def test_a_knock_is_a_connection_without_a_word(self):
        self.connection.knock()
        knock, _ = self.server.accept()
        self.addCleanup(knock.close)
        self.assertEqual(knock.recv(100), b"")

    def test_a_tracer_that_hears_no_knock_is_no_error(self):
        self.server.close()
        self.connection.knock()
        self.connection.path += "/moved"
        self.connection.knock()

    def test_requests_come_whole_however_they_are_cut(self):
        text = b'{"do":{"id":1,"action":"sync"}}\n{"do":{"id":2,"action":"trim"}}\nnot json\n'
        got = []
        for byte in text:
            self.peer.send(bytes([byte]))
            got.extend(self.connection.receive())
        self.assertEqual([m["do"]["id"] for m in got], [1, 2])

    def test_lines_for_a_peer_that_does_not_read_are_dropped_whole_and_counted(self):
        sent = 0
        while not self.connection.dropped:
            self.connection.send({"n": sent, "pad": "x" * 1000})
            sent += 1
        text = b""
        self.peer.settimeout(5)
        while text.count(b"\n") < sent - 1:
            text += self.peer.recv(1 << 20)
            self.connection.send({"n": "after"})  # flushes the rest of a cut line
        numbers = [json.loads(line)["n"] for line in text.splitlines()[: sent - 1]]
        self.assertEqual(numbers, list(range(sent - 1)))

    def test_the_end_of_the_peer_is_an_exception_and_closes(self):
        self.peer.close()
        with self.assertRaises(connection.Closed):
            for _ in range(3):
                self.connection.send({"a": 1})
        self.assertFalse(self.connection.is_open)

    def test_a_descriptor_that_the_program_took_is_never_written_to(self):
        fd = self.connection._socket.fileno()
        os.close(fd)
        ours, theirs = socket.socketpair()
        self.addCleanup(theirs.close)
        os.dup2(ours.fileno(), fd)
        ours.close()
        with self.assertRaises(connection.Closed):
            self.connection.send({"a": 1})
        os.write(fd, b"still open")
        self.assertEqual(theirs.recv(100), b"still open")
        os.close(fd)

    def test_the_descriptor_lies_high_so_that_low_numbers_stay_the_programs(self):
        self.assertGreaterEqual(self.connection._socket.fileno(), connection.HIGH_FD)

    def test_an_absent_tracer_is_no_connection(self):
        self.assertFalse(connection.Connection("/nowhere/at/all").open())


class QuickConnectionTest(ConnectionTest):
    quick = True


if __name__ == "__main__":
    unittest.main()
