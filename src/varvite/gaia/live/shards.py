"""Source packages: what a session accepted, as claims that the target package can refer to.

Gaia compiles a package at a cost that grows faster than its claims, so they are kept in
packages of a bounded size, each of which is left alone once the next one is begun.
"""

import os
import re
import tempfile
from collections.abc import Sequence
from typing import Any

from . import dependencies, files, statements
from .building import build, refuse_broken, sift
from .cost import Meter
from .faults import METADATA_KEY, Answer, Fault, applied, failed, is_ours, refuse
from .package import PACKAGES, Package, open_package
from .publishing import is_stale, publish

CLAIMS_MAX = 250
NAMESPACE = "varvite"
_KINDS = ("claim", "question", "note")
_HEAD = '''"""What a research session accepted, by the ids of its nodes."""

from gaia.engine.lang import claim, note, question

__all__: list[str] = []
'''

Node = dict[str, Any]


def add_source_shard(
    meter: Meter, path: str, shard: str, nodes: Sequence[Node], claims_max: int = CLAIMS_MAX
) -> list[Answer]:
    """Append what is not there to the shard, build it, and make it a dependency.

    Raises:
        Fault: not_a_package, shard_name, package_busy, package_broken, uv_missing, uv_failed.
    """
    package = open_package(path, meter)
    with files.locked(package.lock):
        made = _shard(package, shard)
        files.sweep(made.root)
        answers: dict[str, Answer] = {}
        new = _new(made, nodes, answers, claims_max)
        good = _append(made, new, answers, meter)
        if good or any(one["already"] for one in answers.values()):
            dependencies.add(package, made.root, meter)
        for node in good:
            answers[node["node_id"]] = _answer(made, node, already=False)
    return [answers[node["node_id"]] for node in nodes]


def _shard(package: Package, shard: str) -> Package:
    """The package of this name, there or not."""
    name = re.sub("[^a-z0-9]+", "-", shard.lower().removesuffix("-gaia")).strip("-")
    if not name:
        raise Fault("shard_name", f"{shard!r} cannot name a source package")
    name = f"s-{name}-gaia" if name[0].isdigit() else f"{name}-gaia"
    root = os.path.join(package.root, PACKAGES, name)
    import_name = name.removesuffix("-gaia").replace("-", "_")
    source = os.path.join(root, "src", import_name)
    return Package(root, name, import_name, NAMESPACE, source)


def _module(source: str) -> str:
    return os.path.join(source, "__init__.py")


def _new(
    shard: Package, nodes: Sequence[Node], answers: dict[str, Answer], claims_max: int
) -> list[Node]:
    there = statements.bound(files.read(_module(shard.source)), shard.import_name)
    count = sum(1 for one in there.values() if one.call in _KINDS)
    new: list[Node] = []
    for node in nodes:
        try:
            if _is_there(there.get(node["label"]), node):
                answers[node["node_id"]] = _answer(shard, node, already=True)
                continue
            if count + len(new) >= claims_max:
                refuse("shard_full", f"{shard.name} holds {claims_max} nodes")
            new.append(node)
        except Fault as fault:
            answers[node["node_id"]] = failed(node["node_id"], fault)
    return new


def _is_there(found: statements.Statement | None, node: Node) -> bool:
    statements.refuse_label(node["label"])
    if node["value_type"] not in _KINDS:
        raise Fault("value_type", f"{node['value_type']!r} is none of {', '.join(_KINDS)}")
    if not node["content"].strip():
        raise Fault("content_missing", f"{node['node_id']} has no content to claim")
    if found is None:
        return False
    if is_ours(found.metadata, _metadata(node)):
        return True
    raise Fault("label_collision", f"{node['label']} is bound to something else")


def _metadata(node: Node) -> dict[str, Any]:
    given = dict(node.get("metadata") or {})
    ours = dict(given.pop(METADATA_KEY, {}))
    return given | {METADATA_KEY: ours | {"node_id": node["node_id"]}}


def _append(
    shard: Package, new: list[Node], answers: dict[str, Answer], meter: Meter
) -> list[Node]:
    """Build what the shard will be somewhere else, then let it take the shard's place."""
    before = files.read(_module(shard.source))
    if not new and (before is None or not is_stale(shard.root)):
        return []
    with tempfile.TemporaryDirectory() as folder:
        staged = _staged(shard, folder)

        def attempt(nodes: Sequence[Node]) -> list[dict[str, str]]:
            if not nodes and before is None:
                return []
            text = (before or _HEAD.encode()) + _text(nodes).encode()
            files.replace(_module(staged.source), text)
            built = build(staged.root, meter, write=True)
            if not nodes:
                refuse_broken(built, shard.root)
            return built.diagnostics

        good, bad = sift(new, attempt)
        if not new:
            attempt([])
        if good or not new:
            publish(staged.root, shard.root)
    answers.update((node["node_id"], failed(node["node_id"], fault)) for node, fault in bad)
    return good


def _staged(shard: Package, folder: str) -> Package:
    files.replace(
        os.path.join(folder, "pyproject.toml"), _pyproject(shard.name, shard.import_name).encode()
    )
    source = os.path.join(folder, "src", shard.import_name)
    return Package(folder, shard.name, shard.import_name, shard.namespace, source)


def _text(nodes: Sequence[Node]) -> str:
    blocks = [
        statements.knowledge(
            node["label"], node["value_type"], node["content"], node.get("title"), _metadata(node)
        )
        for node in nodes
    ]
    exported = [node["label"] for node in nodes]
    return "".join(f"\n{block}\n" for block in blocks) + (
        f"\n__all__ += {exported!r}\n" if exported else ""
    )


def _answer(shard: Package, node: Node, *, already: bool) -> Answer:
    return applied(
        node["node_id"],
        already=already,
        package_ref=shard.qid(node["label"]),
        package=shard.name,
    )


def _pyproject(name: str, import_name: str) -> str:
    return f"""\
[project]
name = "{name}"
version = "0.1.0"
description = "Sources that a research session accepted"
requires-python = ">=3.12"
dependencies = []

[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[tool.hatch.build.targets.wheel]
packages = ["src/{import_name}"]

[tool.gaia]
type = "knowledge-package"
namespace = "{NAMESPACE}"

[tool.gaia.quality]
allow_holes = true
"""
