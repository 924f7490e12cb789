"""A program that serves as the validator does, and does what a document asks for: hang, die, run out of memory, be late. `python fake_validator.py PORT`."""

import json
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

DOES_NOT_START = "does not start"


class Asked(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        word, _, argument = body.decode().partition(" ")
        if word == "hang":
            time.sleep(600)
        if word == "die":
            os._exit(1)
        if word == "memory":
            sys.stdout.write("Terminating due to java.lang.OutOfMemoryError: Java heap space\n")
            sys.stdout.flush()
            os._exit(3)
        if word == "wait":  # until the test makes the file
            while not os.path.exists(argument):  # noqa: PTH110
                time.sleep(0.01)
        if word == "noise":
            sys.stdout.write("x" * 1_000_000)
            sys.stdout.flush()
        status = 500 if word == "throw" else 400 if word == "parameter" else 200
        told = {"resourceType": "OperationOutcome", "path": self.path, "type": self.headers["Content-Type"], "pid": os.getpid(), "body": body.decode()}
        answer = json.dumps(told).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def main(port: int, mode: str = "") -> None:
    if mode == DOES_NOT_START:
        sys.exit("Error: no memory for the heap")
    if mode == "slow":
        time.sleep(600)
    server = HTTPServer(("127.0.0.1", port), Asked)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdout.write("validator ready\n")
    sys.stdout.flush()
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
