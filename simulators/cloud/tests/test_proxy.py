"""The bad network: every cut is where it should be and of the kind that was asked for."""

import http.client
import json
import socket
import subprocess
import threading
import time
import unittest
from pathlib import Path

PROXY = Path(__file__).resolve().parent.parent / "tcp-proxy"
TIMEOUT = 20.0


class Echo:
    """A server that counts what it gets, sends everything back, and tells how each connection ended."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.received = 0
        self.ends: list[str] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            client, _ = self.listener.accept()
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        try:
            while piece := client.recv(65536):
                self.received += len(piece)
                client.sendall(piece)
            self.ends.append("fin")
        except ConnectionResetError:
            self.ends.append("rst")
        finally:
            client.close()


class ProxyTests(unittest.TestCase):
    def setUp(self) -> None:
        self.server = Echo()
        self.process = subprocess.Popen(
            [PROXY, "--exit-with-stdin", f"127.0.0.1:{self.server.port}"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.addCleanup(self._stop)
        word, port, control = self.process.stdout.readline().split()
        self.assertEqual(word, "ready")
        self.port, self.control = int(port), int(control)

    def _stop(self) -> None:
        self.process.stdin.close()
        self.assertEqual(self.process.wait(TIMEOUT), 0)
        self.process.stdout.close()

    def tell(self, status: int = 200, **command: object) -> dict:
        connection = http.client.HTTPConnection("127.0.0.1", self.control, timeout=TIMEOUT)
        connection.request("POST", "/", json.dumps(command))
        answer = connection.getresponse()
        self.assertEqual(answer.status, status)
        value = json.loads(answer.read())
        connection.close()
        return value

    def connect(self) -> socket.socket:
        client = socket.create_connection(("127.0.0.1", self.port), timeout=TIMEOUT)
        self.addCleanup(client.close)
        return client

    def read(self, client: socket.socket) -> tuple[int, str]:
        """How much came, and how it ended."""
        count = 0
        try:
            while piece := client.recv(65536):
                count += len(piece)
            return count, "fin"
        except ConnectionResetError:
            return count, "rst"
        except TimeoutError:
            return count, "hole"

    def wait_until(self, holds) -> None:
        deadline = time.monotonic() + TIMEOUT
        while not holds():
            self.assertLess(time.monotonic(), deadline, "nothing happened")
            time.sleep(0.005)

    def test_it_carries_both_ways_and_passes_the_end_on(self) -> None:
        client = self.connect()
        client.sendall(bytes(300_000))
        client.shutdown(socket.SHUT_WR)
        self.assertEqual(self.read(client), (300_000, "fin"))
        state = self.tell()
        self.assertEqual((state["bytesUp"], state["bytesDown"], state["accepted"]), (300_000, 300_000, 1))
        self.assertEqual(len(state["firstBytesAt"]), 1)

    def test_cuts_on_the_way_up(self) -> None:
        for how in ("rst", "fin"):
            with self.subTest(how):
                before, ends = self.server.received, len(self.server.ends)
                self.tell(cut=[{"direction": "up", "after": 1000, "how": how}])
                client = self.connect()
                try:
                    client.sendall(bytes(1_000_000))
                except OSError:
                    pass
                self.read(client)
                self.wait_until(lambda: len(self.server.ends) > ends)
                self.assertEqual((self.server.received - before, self.server.ends[-1]), (1000, how))

    def test_cuts_on_the_way_down(self) -> None:
        for how in ("rst", "fin"):
            with self.subTest(how):
                self.tell(cut=[{"direction": "down", "after": 700, "how": how}])
                client = self.connect()
                client.sendall(bytes(5000))
                count, end = self.read(client)
                self.assertEqual(end, how)
                # A reset may overtake what came before it.
                self.assertTrue(count == 700 or (how == "rst" and count <= 700), count)

    def test_a_cut_strikes_as_many_connections_as_it_says(self) -> None:
        self.tell(cut=[{"after": 1, "times": 2}])
        ends = []
        for _ in range(3):
            client = self.connect()
            try:
                client.sendall(b"xy")
                client.shutdown(socket.SHUT_WR)
            except OSError:
                pass
            ends.append(self.read(client))
        self.assertEqual([count == 2 for count, _ in ends], [False, False, True])
        self.assertEqual(self.tell()["cut"], 2)

    def test_a_hole_swallows_until_it_is_dropped(self) -> None:
        self.tell(cut=[{"direction": "up", "after": 10, "how": "hole"}])
        client = self.connect()
        client.sendall(bytes(100))
        self.wait_until(lambda: self.tell()["cut"] == 1)
        client.settimeout(0.2)
        count, end = self.read(client)
        # What is on its way back when it begins is swallowed too.
        self.assertTrue(end == "hole" and count in (0, 10), (count, end))
        self.assertEqual(self.server.received, 10)
        client.settimeout(TIMEOUT)
        self.tell(dropAll="rst")
        self.assertEqual(self.read(client)[1], "rst")
        self.wait_until(lambda: self.tell()["open"] == 0)

    def test_modes(self) -> None:
        self.tell(mode="refuse")
        with self.assertRaises(ConnectionRefusedError):
            self.connect()
        self.tell(mode="hole")
        client = self.connect()
        client.sendall(b"lost")
        client.settimeout(0.2)
        self.assertEqual(self.read(client), (0, "hole"))
        self.tell(mode="pass", dropAll="fin")
        client = self.connect()
        client.sendall(b"kept")
        client.shutdown(socket.SHUT_WR)
        self.assertEqual(self.read(client), (4, "fin"))

    def test_delay_and_rate(self) -> None:
        for rule in ({"delayMs": 60}, {"delayMs": 0, "bytesPerSecond": 20_000}):
            with self.subTest(rule):
                self.tell(**rule)
                started = time.monotonic()
                client = self.connect()
                client.sendall(bytes(1200))
                client.shutdown(socket.SHUT_WR)
                self.assertEqual(self.read(client), (1200, "fin"))
                self.assertGreaterEqual(time.monotonic() - started, 0.12)

    def test_bad_commands_change_nothing(self) -> None:
        for bad in (
            {"mode": "explode"}, {"cut": [{"how": "no"}]}, {"cut": [{"after": -1}]}, {"cut": [{"times": 0}]},
            {"delayMs": -1}, {"whatever": 1},
        ):  # fmt: skip
            with self.subTest(bad):
                self.assertIn("error", self.tell(400, **{"mode": "refuse"} | bad))
        self.assertEqual(self.tell()["mode"], "pass")
