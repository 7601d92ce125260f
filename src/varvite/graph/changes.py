"""What a step changed in the field map, for the focuses that are tied to it."""

from typing import Any, NamedTuple


class BucketChange(NamedTuple):
    """A touched bucket.

    before, after: its coverage status; before is None for a new bucket. new: the
    `nodes` records that were assigned to it, in order. controversy: something among
    them speaks against something else.
    """

    bucket_id: str
    before: str | None
    after: str
    new: list[dict[str, Any]]
    controversy: bool
