"""Which buckets should become one, and which should become several: of counts alone."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

OUT_OF_SCOPE = "out_of_scope"


class Part(NamedTuple):
    """What of a bucket lies in one community. first_in: no bucket has more of the community."""

    bucket_id: str
    community: int
    nodes: int
    bucket_nodes: int
    first_in: bool

    @property
    def share(self) -> float:
        return self.nodes / self.bucket_nodes


class Standing(NamedTuple):
    """A bucket. role: `out_of_scope` for what is no part of the field."""

    bucket_id: str
    label: str
    role: str | None
    nodes: int
    merged_into: str | None

    @property
    def live(self) -> bool:
        return self.merged_into is None and self.role != OUT_OF_SCOPE


class Limits(NamedTuple):
    """least: nodes from which a part counts. merge, split: shares of a bucket's nodes, from
    which it belongs to one community, and from which a part is one of its own.
    giant: nodes from which a community says nothing of the buckets in it.
    """

    least: int
    merge: float
    split: float
    giant: int


class Merge(NamedTuple):
    """into: of the buckets of one community the one with most nodes. left: it ended before."""

    part: Part
    into: str
    left: bool = False


class Split(NamedTuple):
    """main: the part that stays. parts: those that would be buckets of their own."""

    main: Part
    parts: list[Part]


def merges(
    parts: Iterable[Part], buckets: Mapping[str, Standing], sizes: Mapping[int, int], limits: Limits
) -> list[Merge]:
    """Buckets that lie for the most part in one community, into the largest of them."""
    together: dict[int, list[Part]] = defaultdict(list)
    found = []
    for part in parts:
        bucket = buckets[part.bucket_id]
        if bucket.merged_into is not None:
            found.append(Merge(part, end(bucket.merged_into, buckets), left=True))
        elif bucket.live and part.nodes >= limits.least and part.share >= limits.merge:
            together[part.community].append(part)
    for community, inside in sorted(together.items()):
        if sizes[community] < limits.giant:
            kept, *others = sorted(inside, key=lambda part: (-part.bucket_nodes, part.bucket_id))
            found += [Merge(part, kept.bucket_id) for part in others]
    return list({one.part.bucket_id: one for one in found}.values())


def splits(
    parts: Iterable[Part],
    buckets: Mapping[str, Standing],
    merged: Iterable[Merge],
    limits: Limits,
) -> list[Split]:
    """Buckets with several communities that are first of all theirs; none that merges."""
    busy = {name for one in merged for name in (one.part.bucket_id, one.into)}
    inside: dict[str, list[Part]] = defaultdict(list)
    for part in parts:
        counts = part.nodes >= limits.least and part.share >= limits.split
        if counts and part.first_in and buckets[part.bucket_id].live:
            inside[part.bucket_id].append(part)
    return [
        Split(own[0], own[1:])
        for bucket_id, own in sorted(inside.items())
        if len(own) > 1 and bucket_id not in busy
    ]


def end(bucket_id: str, buckets: Mapping[str, Standing]) -> str:
    """The bucket that this one was merged into, however many merges lie between."""
    while (into := buckets[bucket_id].merged_into) is not None:
        bucket_id = into
    return bucket_id
