"""LKM through Gaia's own client."""

from typing import Any

from .cost import Meter
from .faults import Fault


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
