"""`field_map.json`: the field map as it stands, for people; made from the index alone."""

from typing import Any

from varvite.graph import bucket, membership
from varvite.session.kind import Read

FILE = "field_map.json"


def face(read: Read) -> dict[str, Any]:
    """Every bucket, and the nodes that wait for a decision. Costs a lookup a bucket."""
    return {
        "buckets": [bucket.face(read, bucket_id) for bucket_id in bucket.ids_of(read)],
        "ambiguous": membership.queued(read, membership.AMBIGUOUS),
        "new_bucket_candidates": membership.queued(read, membership.CANDIDATE),
    }
