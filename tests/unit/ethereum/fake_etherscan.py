"""A stand-in for Etherscan's API on this machine: accounts with records, and faults that come first."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

KEY = "SECRETKEY42"
Fault = tuple[int, bytes]


def record(block: int, number: int, source: str, target: str) -> dict[str, str]:
    """A transaction with the fields that Etherscan gives."""
    return {
        "blockNumber": str(block),
        "timeStamp": str(1_500_000_000 + 14 * block),
        "hash": f"0x{number:064x}",
        "nonce": str(number),
        "blockHash": f"0x{block:064x}",
        "transactionIndex": "0",
        "from": source,
        "to": target,
        "value": "1000000000000000000",
        "gas": "21000",
        "gasPrice": "20000000000",
        "isError": "0",
        "txreceipt_status": "1",
        "input": "0x",
        "contractAddress": "",
        "cumulativeGasUsed": "21000",
        "gasUsed": "21000",
        "confirmations": "99",
    }


def refusal(result: str, message: str = "NOTOK") -> Fault:
    """An answer that says no with HTTP status 200, as Etherscan does."""
    return 200, json.dumps({"status": "0", "message": message, "result": result}).encode()


class FakeEtherscan(ThreadingHTTPServer):
    """The server.

    Attributes:
        accounts: the records of each account, in the order of blocks.
        internal: the internal transactions of each account.
        chain: the chain that it serves.
        faults: answers that are sent before all others.
        calls: account, first block and page of each call.
        pause: how long an answer takes, in seconds.
        retry_after: the header of that name in answers with status 429 and from 500 on.
    """

    daemon_threads = True

    def __init__(self, accounts: dict[str, list[dict[str, str]]]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.accounts = accounts
        self.internal: dict[str, list[dict[str, str]]] = {}
        self.chain = 1
        self.faults: list[Fault] = []
        self.calls: list[tuple[str, int, int]] = []
        self.pause = 0.0
        self.retry_after: str | None = None
        self.url = f"http://127.0.0.1:{self.server_port}/v2/api"

    def handle_error(self, *_: object) -> None:
        """A client that was killed is no trouble."""

    def answer(self, query: dict[str, str]) -> Fault:
        """What a call gets."""
        address, block, page = query["address"], int(query["startblock"]), int(query["page"])
        self.calls.append((address, block, page))
        time.sleep(self.pause)
        if self.faults:
            return self.faults.pop(0)
        if query["apikey"] != KEY:
            return refusal("Invalid API Key")
        offset = int(query["offset"])
        if page * offset > 10_000:
            return refusal("Result window is too large, PageNo x Offset size must be less than or equal to 10000")
        of_kind = self.accounts if query["action"] == "txlist" else self.internal
        records = [record for record in of_kind.get(address, []) if int(record["blockNumber"]) >= block]
        rows = records[(page - 1) * offset : page * offset][:1_000]
        if not rows:
            return 200, b'{"status": "0", "message": "No transactions found", "result": []}'
        return 200, json.dumps({"status": "1", "message": "OK", "result": rows}).encode()


class _Handler(BaseHTTPRequestHandler):
    server: FakeEtherscan

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        assert (parts.path, query["chainid"], query["module"]) == ("/v2/api", str(self.server.chain), "account")
        assert query["action"] in ("txlist", "txlistinternal")
        status, body = self.server.answer(query)
        self.send_response(status)
        if 300 <= status < 400:
            self.send_header("Location", body.decode())
        if self.server.retry_after and (status == 429 or status >= 500):
            self.send_header("Retry-After", self.server.retry_after)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def serving(accounts: dict[str, list[dict[str, str]]]) -> Iterator[FakeEtherscan]:
    """Run the server for a while."""
    with FakeEtherscan(accounts) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
