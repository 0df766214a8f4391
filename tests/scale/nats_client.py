"""The little of NATS that the tests need: requests, publications that are acknowledged, and reading a stream."""

import json
import socket
import time


class Nats:
    def __init__(self, port, seconds=30):
        end = time.time() + seconds
        while True:
            try:
                self.socket = socket.create_connection(("127.0.0.1", port), timeout=5)
                self.file = self.socket.makefile("rb")
                assert self.file.readline().startswith(b"INFO")
                break
            except (OSError, AssertionError):
                if time.time() > end:
                    raise
                time.sleep(0.05)
        self.socket.sendall(b'CONNECT {"verbose":false,"headers":true,"no_responders":true}\r\nSUB reply.%d.> 1\r\nPING\r\n' % id(self))
        self.count = 0
        assert self.next() is None  # PONG

    def next(self):
        """(subject, headers, payload) of the next message; None for a PONG."""
        while True:
            line = self.file.readline()
            if not line:
                raise OSError("the server is gone")
            words = line.split()
            if words[0] == b"PING":
                self.socket.sendall(b"PONG\r\n")
            elif words[0] == b"PONG":
                return None
            elif words[0] in (b"MSG", b"HMSG"):
                data = self.file.read(int(words[-1]) + 2)[:-2]
                head = int(words[-2]) if words[0] == b"HMSG" else 0
                headers = dict(part.decode().split(": ", 1) for part in data[:head].split(b"\r\n")[1:] if b": " in part)
                status = data[:head].split(b"\r\n")[0].decode().split()[1:2] if head else []
                return words[1].decode(), {**headers, **({"status": status[0]} if status else {})}, data[head:], \
                    words[3].decode() if len(words) > (5 if head else 4) else ""
            elif words[0] == b"-ERR":
                raise OSError(line.decode())

    def send(self, subject, payload=b"", headers=None):
        """Publishes; gives the subject on which the answer will come."""
        self.count += 1
        reply = f"reply.{id(self)}.{self.count}"
        head = b""
        if headers:
            head = b"NATS/1.0\r\n" + b"".join(f"{k}: {v}\r\n".encode() for k, v in headers.items()) + b"\r\n"
        sizes = f"{len(head)} {len(head) + len(payload)}" if head else str(len(payload))
        self.socket.sendall(f"{'HPUB' if head else 'PUB'} {subject} {reply} {sizes}\r\n".encode() + head + payload + b"\r\n")
        return reply

    def call(self, subject, payload=None, headers=None):
        data = payload if isinstance(payload, bytes) else json.dumps(payload).encode() if payload is not None else b""
        reply = self.send(subject, data, headers)
        while True:
            message = self.next()
            if message and message[0] == reply:
                return json.loads(message[2]) if message[2] else {"status": message[1].get("status")}

    def read(self, stream):
        """All messages of a stream: (subject, headers, payload)."""
        name = self.call(f"$JS.API.CONSUMER.CREATE.{stream}", {"stream_name": stream, "config": {
            "ack_policy": "none", "deliver_policy": "all", "replay_policy": "instant"}})["name"]
        total = self.call(f"$JS.API.STREAM.INFO.{stream}")["state"]["messages"]
        found = []
        while len(found) < total:
            self.send(f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{name}", json.dumps({"batch": min(500, total - len(found)), "expires": 10**9}).encode())
            while True:
                message = self.next()
                if message and "status" in message[1]:
                    break
                if message and message[3].startswith("$JS.ACK"):
                    found.append(message[:3])
                    if len(found) % 500 == 0 or len(found) == total:
                        break
        return found

    def messages(self, stream):
        return self.call(f"$JS.API.STREAM.INFO.{stream}").get("state", {}).get("messages", 0)

    def close(self):
        self.socket.close()
