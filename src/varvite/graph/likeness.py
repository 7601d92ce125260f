"""How near a node is to the buckets of a session, by the features that one assigner gives."""

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from varvite.graph.assigner import Assigner
from varvite.graph.bucket import Bucket
from varvite.graph.routes import SIGNATURE, Routes, signature_key
from varvite.graph.signature import Signature, Weighed, weighed
from varvite.graph.table import Record
from varvite.graph.vocabulary import Vocabulary
from varvite.session.kind import Read

CRITERIA_SHARE = 4
"""A word of a bucket's criteria counts for a quarter of one in its label or terms."""


class Likeness:
    """The signatures and the vocabulary, and over them what this batch adds."""

    def __init__(self, read: Read, assigner: Assigner) -> None:
        self._read, self._assigner = read, assigner
        self.method = assigner.method
        self._routes = Routes(read, assigner.method)
        self._signatures: dict[str, Signature] = {}
        self._heads: dict[str, frozenset[int]] = {}  # where a bucket stands, if it moved since
        self._vocabulary = Vocabulary.read(read) if assigner.by_rarity else None

    def features(self, texts: list[str]) -> list[Mapping[int, int]]:
        return self._assigner.features(texts)

    def weigh(self, found: Mapping[int, int]) -> Weighed:
        """A node's features with their weights; the vocabulary learns of them first."""
        if self._vocabulary is None:
            return weighed(found)
        self._vocabulary.learn(found)
        return weighed(self._vocabulary.weigh(found))

    def nearest(self, node: Weighed) -> list[tuple[int, str]]:
        """Cosine in millionths and bucket id, the nearest first; a bounded number."""
        for bucket_id, before in self._heads.items():
            self._routes.move(bucket_id, before, self._signatures[bucket_id].head)
        self._heads.clear()
        candidates = self._routes.candidates(node)
        scored = [(self._signature(one).similarity(node), one) for one in candidates]
        return sorted(scored, key=lambda pair: (-pair[0], pair[1]))

    def to(self, bucket: Bucket, node: Weighed) -> int:
        """The cosine of a node and one bucket, in millionths."""
        return self._known(bucket).similarity(node)

    def add(self, bucket: Bucket, node: Weighed) -> None:
        """Let the bucket be like the node a little more."""
        signature = self._known(bucket)
        self._heads.setdefault(bucket.id, signature.head)
        signature.add(node)

    def record(self, bucket: Bucket) -> dict[str, Any]:
        """The bucket's signature as its record holds it."""
        features, weights = self._known(bucket).ordered()
        return {"method": self.method, "features": features, "weights": weights}

    def learned(self) -> Iterable[Record]:
        if self._vocabulary is not None and self._vocabulary.changed:
            yield self._vocabulary.record()

    def _known(self, bucket: Bucket) -> Signature:
        """The bucket's signature; one from its words where this assigner meets it first."""
        signature = self._signature(bucket.id)
        if not signature.weights and bucket.merged_into is None:
            signature = self._signatures[bucket.id] = Signature(self._words(bucket))
            self._heads[bucket.id] = frozenset()
        return signature

    def _signature(self, bucket_id: str) -> Signature:
        if bucket_id not in self._signatures:
            stored = self._read(SIGNATURE, signature_key(self.method, bucket_id))
            pairs = zip(*orjson.loads(stored), strict=True) if stored else ()
            self._signatures[bucket_id] = Signature(dict(pairs))
        return self._signatures[bucket_id]

    def _words(self, bucket: Bucket) -> dict[int, int]:
        texts = [bucket.label, *bucket.terms, bucket.criteria]
        weights: dict[int, int] = {}
        for text, found in zip(texts, self.features(texts), strict=True):
            of_criteria = text is bucket.criteria
            share = self._assigner.term_weight // (CRITERIA_SHARE if of_criteria else 1)
            for feature, weight in found.items():
                weights[feature] = weights.get(feature, 0) + share * weight
        return weights
