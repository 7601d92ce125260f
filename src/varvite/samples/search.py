"""Search sessions of any size, made from a seed: raw responses as an LKM gives them.

The distributions are those of real sessions: the share of hits that were never seen
falls from round to round; most variables appear once and a few again and again; most
papers give one variable; a chain's premises are mostly outside every search result;
a quarter of the calls fail, and some are tried again.

The same seed gives the same bytes, and a longer session begins with a shorter one.
Memory grows by about 20 bytes a record, never by the text.
"""

from array import array
from collections.abc import Iterator
from itertools import count
from random import Random
from typing import Any, NamedTuple

import orjson

from varvite.graph.payloads import Payload
from varvite.samples import words

CALLS_PER_ROUND = 40
HITS_PER_CALL = 10
NEW_SHARE_BY_ROUND = (0.75, 0.42, 0.42, 0.39, 0.31, 0.29)
"""Of a round's hits, those never seen before; the last one holds for all rounds after it."""

RICHER_SHARE = 0.3
"""Of the variables from a rich paper, those that draw further ones to it."""

EVIDENCE_SHARE = 0.25
FAILED_SHARE = 0.256
"""Of the first tries; of all responses 23 in 100."""

RETRIED_SHARE = 0.4
"""Of the failed calls; a retry succeeds."""

RECURRING_SHARE = 0.5
"""Of the variables, those that appear in later results at all."""

NEW_PAPER_SHARE = 0.74
RICH_PAPER_SHARE = 0.25
"""Of the papers, those that give more than one variable."""

SOFT_DUPLICATE_SHARE = 0.03
"""Of the papers, those that are an earlier one again under another id and DOI."""

CHAIN_SHARE = 0.5
"""Of the evidence calls, those that find one chain; the others find none."""

PREMISES_WEIGHTS = (43, 51, 17, 7, 4)
UNSEEN_PREMISE_SHARE = 0.7
GRAPH_SHAPE_SHARE = 0.5
"""Of the chains, those in the shape `reasoning_chains[].graph`."""

CONTENT_MEDIAN, CONTENT_SPREAD, CONTENT_MAX = 787, 0.366, 3629
"""Characters: log-normal, cut."""

FAILED_CODE = 290001
_PREMISE_BIT = 1 << 40


class Response(NamedTuple):
    """One response. file: its label, as a search tool would name it. query: None for evidence.

    records: how many records a session makes of it, without the batch's own event.
    """

    file: str
    query: str | None
    raw: str
    records: int

    def payload(self) -> Payload:
        return Payload(self.raw, self.file, query=self.query, call=self.file)

    def line(self) -> bytes:
        """The response in an envelope, as one line of a file that `graph submit` takes."""
        head = {"file": self.file} | ({"query": self.query} if self.query else {})
        wrapped: bytes = orjson.dumps(head | {"payload": orjson.Fragment(self.raw)})
        return wrapped + b"\n"


def responses(seed: int, records: int) -> Iterator[Response]:
    """Responses that make at least `records` records of a session, and no response more."""
    made = 0
    for response in _Session(seed).responses():
        yield response
        made += response.records
        if made >= records:
            return


class _Session:
    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._rng = Random(seed)  # noqa: S311  (samples, not secrets)
        self._appearances = array("Q")
        self._papers_of = array("Q")
        self._rich_papers = array("Q")
        self._papers = self._premises = self._factors = self._serial = 0

    def responses(self) -> Iterator[Response]:
        for number in count():
            rnd, in_round = divmod(number, CALLS_PER_ROUND)
            if self._papers_of and self._rng.random() < EVIDENCE_SHARE:
                yield from self._evidence(rnd, in_round + 1)
            else:
                yield from self._search(rnd, in_round + 1)

    def _search(self, rnd: int, in_round: int) -> Iterator[Response]:
        query = words.query(self._rng)
        share = NEW_SHARE_BY_ROUND[min(rnd, len(NEW_SHARE_BY_ROUND) - 1)]
        for name in self._tries(f"match_{query.split()[0].lower()}", query, rnd, in_round):
            if isinstance(name, Response):
                yield name
            else:
                yield self._found(name, query, share)

    def _tries(
        self, what: str, query: str | None, rnd: int, in_round: int
    ) -> Iterator[Response | str]:
        """The failure if the first try fails, and the name of the call that goes through."""
        label = f"round_{rnd:04d}_{in_round:03d}"
        if self._rng.random() >= FAILED_SHARE:
            yield f"{label}_{what}.json"
            return
        yield self._failure(f"{label}_{what}.json", query)
        if self._rng.random() < RETRIED_SHARE:
            yield f"{label}r_{what}_retry.json"

    def _found(self, name: str, query: str, share: float) -> Response:
        known, papers_before = len(self._papers_of), self._papers
        numbers = self._pick(share)
        papers = {self._papers_of[number]: None for number in numbers}
        data = {
            "new_claim_likely": self._rng.random() < share,
            "papers": dict(self._paper(paper) for paper in papers),
            "variables": [self._variable(number, rank) for rank, number in enumerate(numbers)],
        }
        new = len(self._papers_of) - known
        records = 2 + len(numbers) + 2 * new + self._papers - papers_before
        return Response(name, query, self._success(data), records)

    def _pick(self, share: float) -> list[int]:
        """Ten different variables, new with probability `share`, else by how often they came."""
        chosen: dict[int, None] = {}
        while len(chosen) < HITS_PER_CALL:
            if self._rng.random() < share or not self._appearances:
                chosen[self._new_variable()] = None
            else:
                chosen[self._rng.choice(self._appearances)] = None
        for number in chosen:
            if self._recurs(number):
                self._appearances.append(number)
        return list(chosen)

    def _new_variable(self) -> int:
        rich = self._rich_papers
        if not rich or self._rng.random() < NEW_PAPER_SHARE:
            paper = self._papers
            self._papers += 1
            if self._own(paper, "rich").random() < RICH_PAPER_SHARE:
                rich.append(paper)
        else:
            paper = self._rng.choice(rich)
            if self._rng.random() < RICHER_SHARE:
                rich.append(paper)
        self._papers_of.append(paper)
        return len(self._papers_of) - 1

    def _recurs(self, number: int) -> bool:
        return self._own(number, "recurs").random() < RECURRING_SHARE

    def _evidence(self, rnd: int, in_round: int) -> Iterator[Response]:
        number = self._rng.randrange(len(self._papers_of))
        for name in self._tries(f"evidence_{_gcn(number)}", None, rnd, in_round):
            if isinstance(name, Response):
                yield name
            else:
                data, records = self._chain(number)
                yield Response(name, None, self._success(data), records)

    def _chain(self, number: int) -> tuple[dict[str, Any], int]:
        paper_id, paper = self._paper(self._papers_of[number])
        claim = self._claim(number)
        data: dict[str, Any] = {"claim": claim | {"type": "claim"}}
        if self._rng.random() >= CHAIN_SHARE:
            return data | {"evidence_chains": [], "papers": {}, "total_chains": 0}, 2
        fresh, premises = self._pick_premises(number)
        factor = f"gfac_{_hex(self._factors, 'factor')}"
        self._factors += 1
        graph = self._rng.random() < GRAPH_SHAPE_SHARE
        chain = (self._graph if graph else self._factor)(factor, premises, claim)
        kind = "reasoning_chains" if graph else "evidence_chains"
        data |= {kind: [{"source_package": paper_id} | chain], "total_chains": 1}
        records = 2 + fresh + 1 + 1 + len(premises) + 1
        return data | {"papers": {paper_id: paper}}, records

    def _pick_premises(self, conclusion: int) -> tuple[int, list[int]]:
        """How many of the premises are outside every search result, and all of them."""
        size = self._rng.choices(range(1, len(PREMISES_WEIGHTS) + 1), PREMISES_WEIGHTS)[0]
        chosen: dict[int, None] = {}
        fresh = 0
        while len(chosen) < size:
            if self._rng.random() < UNSEEN_PREMISE_SHARE:
                chosen[_PREMISE_BIT + self._premises] = None
                self._premises += 1
                fresh += 1
            else:
                number = self._rng.randrange(len(self._papers_of))
                if number != conclusion:
                    chosen[number] = None
        return fresh, list(chosen)

    def _factor(self, factor: str, premises: list[int], claim: dict[str, Any]) -> dict[str, Any]:
        inner = {
            "id": factor,
            "factor_type": "strategy",
            "subtype": "noisy_and",
            "premises": [self._claim(number) for number in premises],
            "conclusion": claim,
            "steps": self._steps(),
        }
        question = {"id": f"{factor}_q", "content": words.sentence(self._rng)}
        return {"factors": [inner], "motivating_questions": [question]}

    def _graph(self, factor: str, premises: list[int], claim: dict[str, Any]) -> dict[str, Any]:
        claims = [self._claim(number) | {"type": "claim"} for number in premises]
        whole = {"id": factor, "type": "factor", "factor_type": "strategy", "steps": self._steps()}
        edges = [{"source": one["id"], "target": factor, "type": "premise"} for one in claims]
        edges.append({"source": factor, "target": claim["id"], "type": "concludes"})
        return {"graph": {"nodes": [*claims, whole, claim | {"type": "claim"}], "edges": edges}}

    def _steps(self) -> list[dict[str, str]]:
        return [
            {"step_id": str(step), "reasoning": words.sentence(self._rng)}
            for step in range(1, self._rng.randrange(4, 9))
        ]

    def _claim(self, number: int) -> dict[str, Any]:
        return {"id": _gcn(number), "content": self._content(number)}

    def _content(self, number: int) -> str:
        rng = self._own(number, "content")
        length = CONTENT_MEDIAN * rng.lognormvariate(0, CONTENT_SPREAD)
        return words.prose(rng, min(int(length), CONTENT_MAX))

    def _variable(self, number: int, rank: int) -> dict[str, Any]:
        package = _package(self._papers_of[number])
        rng = self._own(number, "variable")
        return self._claim(number) | {
            "content_hash": _hex(number, "hash") * 4,
            "type": "claim",
            "role": "premise" if rng.random() < 2 / 3 else "conclusion",
            "score": 1 / (60 + rank) + (0.01 if rank < 3 else 0),  # noqa: PLR2004
            "visibility": "public",
            "provenance": {
                "representative_lcn": {
                    "local_id": f"{package}::P{rng.randrange(1, 20)}",
                    "package_id": package,
                    "version": "2.0.0",
                },
                "source_packages": [package],
            },
        }

    def _paper(self, number: int) -> tuple[str, dict[str, str]]:
        """The paper's key and fields. A soft duplicate has the title of an earlier paper."""
        rng = self._own(number, "paper")
        copy = number > 0 and rng.random() < SOFT_DUPLICATE_SHARE
        original = rng.randrange(number) if copy else number
        text = self._own(original, "title")
        key = _package(number)
        return key, {
            "id": key.removeprefix("paper:"),
            "doi": f"10.48550/arxiv.{number}" if copy else f"10.1000/sample.{number}",
            "en_title": words.title(text) + f" ({original})",
            "authors": words.authors(text),
            "publication_date": f"{2000 + number % 26}-{1 + number % 12:02d}-01",
        }

    def _failure(self, name: str, query: str | None) -> Response:
        error = {"msg": "search failed: context deadline exceeded", "reference": "", "title": ""}
        raw = {"code": FAILED_CODE, "error": error, "trace_id": self._trace_id()}
        return Response(name, query, orjson.dumps(raw).decode(), 2)

    def _success(self, data: dict[str, Any]) -> str:
        return orjson.dumps({"code": 0, "data": data, "trace_id": self._trace_id()}).decode()

    def _trace_id(self) -> str:
        self._serial += 1
        return f"{_hex(self._serial, 'trace')}{self._serial:016x}"

    def _own(self, number: int, of: str) -> Random:
        """A stream of its own for each thing, so that nothing about it need be kept."""
        return Random(f"{self._seed}/{of}/{number}")  # noqa: S311


def _gcn(number: int) -> str:
    return f"gcn_{_hex(number, 'variable')}"


def _package(number: int) -> str:
    return f"paper:{800_000_000_000_000_000 + number * 7_919}"


def _hex(number: int, of: str) -> str:
    """16 digits, different for each number: an odd multiplier permutes 64 bits."""
    salt = int.from_bytes(of.encode()[:8].ljust(8, b"."), "big")
    return f"{(number * 0x9E3779B97F4A7C15 ^ salt) & (2**64 - 1):016x}"
