"""A provider on the loopback: answers of the real shape, and its errors."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

PAPER = {
    "id": "p1",
    "doi": "10.1/one",
    "en_title": "On floating bodies",
    "package_id": "paper:p1",
}
SEARCH = {
    "code": 0,
    "data": {
        "variables": [
            {
                "id": f"gcn_{number:016x}",
                "type": "claim",
                "role": "conclusion",
                "content": f"Body {number} floats at density {number / 10}.",
                "content_hash": f"{number:064x}",
                "score": 0.9 - number / 100,
                "provenance": {
                    "representative_lcn": {
                        "local_id": f"paper:p1::C{number}",
                        "package_id": "paper:p1",
                        "version": "1",
                    },
                    "source_packages": ["paper:p1"],
                },
            }
            for number in range(4)
        ],
        "papers": {"paper:p1": PAPER},
    },
    "trace_id": "t1",
}
GRAPH = {
    "code": 0,
    "data": {
        "papers": [
            {
                "paper": PAPER,
                "graph": {
                    "nodes": [
                        {
                            "id": "paper:p1::H1",
                            "global_id": "gcn_00000000000000aa",
                            "local_id": "paper:p1::H1",
                            "type": "claim",
                            "role": "premise",
                            "content": "Density is below one.",
                        },
                        {
                            "id": "paper:p1::C1",
                            "global_id": "gcn_00000000000000bb",
                            "local_id": "paper:p1::C1",
                            "type": "claim",
                            "role": "conclusion",
                            "content": "It floats.",
                        },
                        {"id": "f1", "type": "factor", "steps": [{"reasoning": "By Archimedes."}]},
                    ],
                    "edges": [
                        {"source": "paper:p1::H1", "target": "f1", "type": "premise_of"},
                        {"source": "f1", "target": "paper:p1::C1", "type": "concludes"},
                    ],
                },
            }
        ]
    },
}
BUSY = {"code": 290001, "error": {"msg": "hybrid search timed out"}, "trace_id": "t2"}
ABSENT = {"code": 290004, "error": {"msg": "no such paper"}}


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"] or 0)) or "{}")
        self.server.asked.append((self.path, body, self.headers["accessKey"]))
        status, answer = self._answer(body)
        data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _answer(self, body):
        if self.path == "/papers/graph":
            return 200, GRAPH if body.get("paper_id") == "p1" else ABSENT
        wanted = body.get("query", "")
        if wanted == "slow":
            time.sleep(3)
        return {
            "busy": (200, BUSY),
            "forbidden": (403, {"code": 403}),
            "broken": (502, b"<html>bad gateway</html>"),
        }.get(wanted, (200, SEARCH))

    def log_message(self, *_):
        pass


@pytest.fixture
def provider(monkeypatch):
    """Its index is `local`, for every process started while it runs."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.asked = []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    monkeypatch.setenv("GAIA_LKM_INDEX_LOCAL_URL", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("GAIA_LKM_ACCESS_KEY", "none")
    monkeypatch.setenv("GAIA_LKM_READ_TIMEOUT", "1")
    yield server
    server.shutdown()
    thread.join()
    server.server_close()
