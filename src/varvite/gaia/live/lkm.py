"""LKM through Gaia's own client, and its answers as packages through Gaia's own materialiser."""

import json
import os
from pathlib import Path
from typing import Any

from . import dependencies, files, statements
from .cost import Meter
from .faults import Answer, Fault, applied
from .package import isolated, open_package, read


def fetch(
    meter: Meter,
    index_id: str,
    method: str,
    path: str,
    body: dict[str, Any] | None = None,
    params: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """One call to a configured index; an answer that reports an error is an answer.

    Raises:
        Fault: lkm_index_unknown, lkm_credential, lkm_permission, lkm_not_found,
            lkm_transport (retryable).
    """
    with meter.gaia():
        from gaia.lkm import client, indexes

        url = indexes.lkm_index_base_url(index_id)
        if url is None:
            raise Fault("lkm_index_unknown", f"no LKM index is configured as {index_id}")
        try:
            with client.LKMClient(base_url=url) as opened:
                return dict(opened.request(method, path, json_body=body, params=params))
        except client.LKMCredentialError as error:
            raise Fault("lkm_credential", str(error)) from None
        except client.LKMPermissionError as error:
            raise Fault("lkm_permission", str(error)) from None
        except client.LKMNotFoundError as error:
            raise Fault("lkm_not_found", str(error)) from None
        except client.LKMTransportError as error:
            raise Fault("lkm_transport", str(error), retryable=True) from None


def materialise(
    meter: Meter, path: str, kind: str, payload: str, index_id: str, source_id: str
) -> Answer:
    """A paper's graph or a claim's chains as a source package of the target.

    The result's `refs` say which claim became which package ref, by the provider's id.

    Raises:
        Fault: payload_refused, uv_missing, uv_failed.
    """
    target = open_package(path, meter)
    with files.locked(target.lock):
        with meter.gaia(), isolated():
            made = _made(kind, json.loads(payload), target.root, index_id, source_id)
        dependencies.add(target, str(made.root), meter)
    package = read(str(made.root))
    found = statements.bound(
        files.read(os.path.join(package.source, "__init__.py")), package.import_name
    )
    refs = {
        one.metadata["node_id"]: package.qid(name)
        for name, one in found.items()
        if one.call in {"claim", "question"} and isinstance(one.metadata, dict)
    }
    return applied(
        source_id, already=made.regenerated_existing, package=package.name, refs=refs,
        source_ref=made.source_ref, skipped_factors=made.skipped_factor_count,
    )  # fmt: skip


def _made(kind: str, payload: Any, root: str, index_id: str, source_id: str) -> Any:
    from gaia.engine import materialize
    from gaia.engine.packaging import GaiaPackagingError

    try:
        if kind == "paper":
            return materialize.materialize_lkm_paper_package(
                payload, project_root=Path(root), index_id=index_id, paper_id=source_id
            )
        return materialize.materialize_lkm_reasoning_chain_package(
            payload, project_root=Path(root), index_id=index_id, claim_id=source_id
        )
    except GaiaPackagingError as error:
        raise Fault("payload_refused", str(error)) from None
