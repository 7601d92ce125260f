"""Things to ask the port for, and the bytes of a package."""

from pathlib import Path

from varvite.graph.port import Relation, SourceNode


def node(number, *, content=None, kind="claim", session="s1"):
    return SourceNode(
        f"node_{number:04}",
        f"node_{number:04}",
        kind,
        content if content is not None else f"Statement number {number} holds.",
        f"Title {number}",
        {"provider": "lkm", "varvite": {"session": session}},
    )


def relation(number, claims, pattern="contradict", *, session="s1", binding=None):
    name = binding or f"cr_{number:012x}"
    ours = {"candidate_id": f"candidate_{number}", "session": session}
    return Relation(
        f"candidate_{number}", name, name, tuple(claims), pattern, "They differ.", {"varvite": ours}
    )


def source_bytes(root):
    """Every byte below the package but what locks and caches leave."""
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(Path(root).rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }
