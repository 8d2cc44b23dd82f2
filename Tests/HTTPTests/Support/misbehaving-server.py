"""A loopback HTTP server that does what servers should not. One thread per connection; `ready PORT` on stdout."""

import gzip
import hashlib
import json
import socket
import ssl
import subprocess
import sys
import threading
import time

hits: dict[str, int] = {}
connections = 0
lock = threading.Lock()


class Connection:
    def __init__(self, stream: socket.socket, number: int):
        self.stream = stream
        self.number = number
        self.buffer = b""
        self.served = 0

    def read_until(self, mark: bytes) -> bytes | None:
        while mark not in self.buffer:
            more = self.stream.recv(65536)
            if not more:
                return None
            self.buffer += more
        head, self.buffer = self.buffer.split(mark, 1)
        return head

    def read_body(self, length: int) -> bytes:
        while len(self.buffer) < length:
            more = self.stream.recv(1 << 20)
            if not more:
                break
            self.buffer += more
        body, self.buffer = self.buffer[:length], self.buffer[length:]
        return body

    def answer(self, status: str, body: bytes = b"", headers: list[str] = [], length: int | None = None) -> None:
        lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body) if length is None else length}", *headers]
        self.stream.sendall("\r\n".join([*lines, "", ""]).encode() + body)

    def serve(self) -> None:
        while (head := self.read_until(b"\r\n\r\n")) is not None:
            lines = head.decode("latin-1").split("\r\n")
            method, target, _ = lines[0].split(" ", 2)
            headers = [line.split(": ", 1) if ": " in line else [line.rstrip(":"), ""] for line in lines[1:]]
            with lock:
                hits[target] = hits.get(target, 0) + 1
            if not self.handle(method, target, headers):
                return
            self.served += 1

    def handle(self, method: str, target: str, headers: list[list[str]]) -> bool:
        length = int(next((value for name, value in headers if name.lower() == "content-length"), "0"))
        route = target.split("?")[0].strip("/").split("/")
        if route[0] == "never-read":
            time.sleep(3600)
        if route[0] == "early":
            self.answer("413 Payload Too Large", b"{}", ["Connection: close"])
            self.read_body(length)
            return False
        body = self.read_body(length)
        handler = getattr(self, "on_" + route[0].replace("-", "_"), None)
        if handler is None:
            self.answer("404 Not Found", b"?")
            return True
        return handler(method, target, headers, body, route[1:]) is not False

    def on_echo(self, method, target, headers, body, rest):
        value = {
            "method": method,
            "target": target,
            "headers": headers,
            "length": len(body),
            "sha256": hashlib.sha256(body).hexdigest(),
            "text": body[:4096].decode("latin-1"),
            "connection": self.number,
        }
        self.answer("200 OK", json.dumps(value).encode(), ["Content-Type: application/json"])

    def on_count(self, method, target, headers, body, rest):
        self.answer("200 OK", str(hits.get("/" + "/".join(rest), 0)).encode())

    def on_status(self, method, target, headers, body, rest):
        fields = ["Retry-After: 7", "Date: Sun, 06 Nov 1994 08:49:37 GMT", "Location: /echo"]
        self.answer(f"{rest[0]} Whatever", b"body", fields)

    def on_huge(self, method, target, headers, body, rest):
        self.answer("200 OK", b"", length=1 << 40)
        while True:
            self.stream.sendall(b"x" * 65536)

    def on_huge_headers(self, method, target, headers, body, rest):
        self.answer("200 OK", b"", [f"X-{i}: {'y' * 1000}" for i in range(90)])

    def on_many_headers(self, method, target, headers, body, rest):
        self.answer("200 OK", b"", [f"X-{i}: y" for i in range(200)])

    def on_stall(self, method, target, headers, body, rest):
        time.sleep(3600)

    def on_truncated(self, method, target, headers, body, rest):
        self.answer("200 OK", b"0123456789", length=100)
        return False

    def on_close(self, method, target, headers, body, rest):
        return False

    def on_garbage(self, method, target, headers, body, rest):
        self.stream.sendall(b"SSH-2.0-OpenSSH\r\n")
        return False

    def on_gzip(self, method, target, headers, body, rest):
        self.answer("200 OK", gzip.compress(b"z" * 100_000), ["Content-Encoding: gzip"])

    def on_second_dies(self, method, target, headers, body, rest):
        """Answers the first request of a connection; takes a later one and closes without an answer."""
        if self.served > 0:
            return False
        self.answer("200 OK", b"first")

    def on_bytes(self, method, target, headers, body, rest):
        data = bytes(i % 251 for i in range(int(rest[0])))
        asked = next((value for name, value in headers if name.lower() == "range"), None)
        if asked and "ignore-range" not in target:
            start = int(asked.removeprefix("bytes=").rstrip("-"))
            told = start + 1 if "wrong-range" in target else start
            self.answer("206 Partial Content", data[start:], [f"Content-Range: bytes {told}-{len(data) - 1}/{len(data)}"])
        else:
            self.answer("200 OK", data)

    def on_trickle(self, method, target, headers, body, rest):
        self.answer("200 OK", b"", length=1 << 20)
        while True:
            self.stream.sendall(b".")
            time.sleep(0.02)


def run(stream: socket.socket, number: int, tls: ssl.SSLContext | None) -> None:
    try:
        if tls:
            stream = tls.wrap_socket(stream, server_side=True)
        Connection(stream, number).serve()
    except OSError:
        pass
    finally:
        stream.close()


def make_tls(folder: str) -> ssl.SSLContext:
    """A certificate of its own for 127.0.0.1; cert.pem is also the authority."""
    command = (
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=test "
        "-addext subjectAltName=IP:127.0.0.1 -keyout key.pem -out cert.pem"
    )
    subprocess.run(command.split(), cwd=folder, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder + "/cert.pem", folder + "/key.pem")
    return context


def main() -> None:
    global connections
    tls = make_tls(sys.argv[1]) if len(sys.argv) > 1 else None
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    print("ready", listener.getsockname()[1], flush=True)
    while True:
        stream, _ = listener.accept()
        connections += 1
        threading.Thread(target=run, args=(stream, connections, tls), daemon=True).start()


main()
