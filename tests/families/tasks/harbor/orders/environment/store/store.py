"""A store of orders: GET /orders, GET /best, PUT /best."""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ORDERS = [("ann", 5), ("bob", 7), ("ann", 4), ("cid", 6), ("bob", 1)]
BEST = Path("/data/best")


class Store(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/orders":
            self.answer(200, json.dumps([{"customer": name, "amount": amount} for name, amount in ORDERS]).encode())
        elif self.path == "/best":
            self.answer(200, BEST.read_bytes() if BEST.exists() else b"")
        else:
            self.answer(404, b"")

    def do_PUT(self):
        if self.path == "/best":
            BEST.write_bytes(self.rfile.read(int(self.headers.get("Content-Length", 0))))
            self.answer(204, b"")
        else:
            self.answer(404, b"")

    def answer(self, status, body):
        self.send_response(status)
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if status != 204:
            self.wfile.write(body)


BEST.parent.mkdir(exist_ok=True)
ThreadingHTTPServer(("", int(sys.argv[1])), Store).serve_forever()
