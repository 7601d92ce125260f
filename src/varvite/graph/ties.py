"""Which open focuses a bucket is tied to: focuses write it, buckets show it."""

from varvite.graph.table import listed
from varvite.session.kind import Read

BUCKET_FOCUSES = "bucket_focuses"


def focuses_of(read: Read, bucket_id: str) -> list[str]:
    return listed(read, BUCKET_FOCUSES, bucket_id)
