"""Obligations, focus and hypotheses in a package's inquiry state.

Gaia rewrites the file in place and whole for each of them; here a flush is one load and
one atomic save of the same payload, and fields that Gaia does not know are kept.
"""

import json
import os
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any

from . import files
from .cost import Meter
from .faults import METADATA_KEY, SESSION, Answer, Fault, applied, failed, refuse
from .package import Package, open_package
from .references import Scope

OPEN_MAX = 256
TRIES_MAX = 5
FOCUS = "focus"
"""What a target that is a focus of ours, and nothing in the package, begins with."""

Event = tuple[str, dict[str, Any]]
Change = Callable[[Any], tuple[list[Answer], list[Event]]]


def sync_obligations(
    meter: Meter,
    path: str,
    opened: Sequence[dict[str, Any]],
    closed: Sequence[dict[str, Any]],
    owner: str = "",
    open_max: int = OPEN_MAX,
) -> list[Answer]:
    """Close, then open while at most `open_max` of this owner's are open.

    Raises:
        Fault: not_a_package, state_newer, state_malformed, state_contended.
    """
    package = open_package(path, meter)
    scope = Scope(package)

    def change(state: Any) -> tuple[list[Answer], list[Event]]:
        shut = [_close(state, one, owner) for one in closed]
        made = [_open(state, one, owner, scope, open_max) for one in opened]
        events = [event for _, event in [*shut, *made] if event]
        return [answer for answer, _ in [*made, *shut]], events

    return _save(package, change, meter)


def set_focus(meter: Meter, path: str, focus: dict[str, Any], owner: str = "") -> Answer:
    package = open_package(path, meter)
    resolved = _compiled(package, focus["focus"])

    def change(state: Any) -> tuple[list[Answer], list[Event]]:
        wanted = (focus["focus"], focus["kind"], resolved)
        if (state.focus, state.focus_kind, state.focus_resolved_id) == wanted:
            return [applied(focus["focus_id"], already=True)], []
        state.focus, state.focus_kind, state.focus_resolved_id = wanted
        ours = {METADATA_KEY: _ours(owner, focus_id=focus["focus_id"])}
        event = {"target": focus["focus"], "kind": focus["kind"]} | ours
        return [applied(focus["focus_id"], resolved_id=resolved)], [("focus_set", event)]

    return _save(package, change, meter)[0]


def add_hypotheses(
    meter: Meter, path: str, hypotheses: Sequence[dict[str, Any]], owner: str = ""
) -> list[Answer]:
    """A hypothesis has no room for our id, so its qid is a function of it."""
    package = open_package(path, meter)

    def change(state: Any) -> tuple[list[Answer], list[Event]]:
        made = [_suppose(state, one, owner) for one in hypotheses]
        return [answer for answer, _ in made], [event for _, event in made if event]

    return _save(package, change, meter)


def _open(
    state: Any, one: dict[str, Any], owner: str, scope: Scope, open_max: int
) -> tuple[Answer, Event | None]:
    our_id = one["obligation_id"]
    anchor = {METADATA_KEY: _ours(owner, obligation_id=our_id)}
    ours = [found for found in state.synthetic_obligations if _is_of(found.anchor, owner)]
    for found in ours:
        if found.anchor == anchor:
            return applied(our_id, already=True, qid=found.qid), None
    try:
        if len(ours) >= open_max:
            refuse("window_full", f"{open_max} obligations are open", retryable=True)
        _refuse_unknown(scope, one["target"])
        made = _obligation(state, one, anchor)
    except Fault as fault:
        return failed(our_id, fault), None
    state.synthetic_obligations.append(made)
    payload = {"qid": made.qid, "target_qid": made.target_qid, "kind": made.diagnostic_kind}
    return applied(our_id, qid=made.qid), ("obligation_add", payload | anchor)


def _obligation(state: Any, one: dict[str, Any], anchor: dict[str, Any]) -> Any:
    from gaia.engine.inquiry import VALID_OBLIGATION_KINDS, SyntheticObligation

    kind = one["diagnostic_kind"]
    if kind not in VALID_OBLIGATION_KINDS:
        raise Fault("obligation_kind", f"{kind!r} is no kind of obligation to Gaia")
    taken = {found.qid for found in state.synthetic_obligations}
    qid = _qid("oblig", json.dumps(anchor, sort_keys=True), taken)
    return SyntheticObligation(
        qid=qid,
        target_qid=one["target"],
        content=one["content"],
        diagnostic_kind=kind,
        anchor=anchor,
    )


def _refuse_unknown(scope: Scope, target: str) -> None:
    """Gaia takes an obligation about nothing."""
    if not target.startswith(FOCUS) and not scope.knows(target):
        message = f"{target} is not in the package or what it imports"
        raise Fault("target_unknown", message, retryable=True)


def _close(state: Any, one: dict[str, Any], owner: str) -> tuple[Answer, Event | None]:
    our_id = one["obligation_id"]
    anchor = {METADATA_KEY: _ours(owner, obligation_id=our_id)}
    kept: list[Any] = []
    gone: list[Any] = []
    for found in state.synthetic_obligations:
        is_it = found.anchor == anchor or (not found.anchor and found.qid == one.get("qid"))
        (gone if is_it else kept).append(found)
    state.synthetic_obligations = kept
    if not gone:
        return applied(our_id, already=True), None
    return applied(our_id, qid=gone[0].qid), ("obligation_close", {"qid": gone[0].qid} | anchor)


def _suppose(state: Any, one: dict[str, Any], owner: str) -> tuple[Answer, Event | None]:
    from gaia.engine.inquiry import SyntheticHypothesis

    our_id = one["hypothesis_id"]
    qid = _qid("hyp", f"{owner}\x1f{our_id}", set())
    if any(found.qid == qid for found in state.synthetic_hypotheses):
        return applied(our_id, already=True, qid=qid), None
    made = SyntheticHypothesis(qid=qid, content=one["content"], scope_qid=one.get("scope"))
    state.synthetic_hypotheses.append(made)
    ours = {METADATA_KEY: _ours(owner, hypothesis_id=our_id)}
    event = {"qid": qid, "content": made.content, "scope_qid": made.scope_qid}
    return applied(our_id, qid=qid), ("hypothesis_add", event | ours)


def _ours(owner: str, **ids: str) -> dict[str, str]:
    return ({SESSION: owner} if owner else {}) | ids


def _is_of(anchor: dict[str, Any], owner: str) -> bool:
    ours = anchor.get(METADATA_KEY)
    return isinstance(ours, dict) and ours.get(SESSION, "") == owner


def _qid(prefix: str, key: str, taken: set[str]) -> str:
    """As short as Gaia's own, longer where that name is taken."""
    digest = sha256(key.encode()).hexdigest()
    length = 8
    while f"{prefix}_{digest[:length]}" in taken:
        length += 1
    return f"{prefix}_{digest[:length]}"


def _compiled(package: Package, focus: str) -> str | None:
    """The compiled id that a focus names, if it names one."""
    text = files.read(os.path.join(package.root, ".gaia", "ir.json"))
    if text is None:
        return None
    known = json.loads(text).get("knowledges", [])
    found = [one["id"] for one in known if focus in (one.get("id"), one.get("label"))]
    return found[0] if found else None


def _save(package: Package, change: Change, meter: Meter) -> list[Answer]:
    """Load, change and save, from the start again where the file changed in between."""
    path = os.path.join(package.root, ".gaia", "inquiry", "state.json")
    with files.locked(package.lock):
        for _ in range(TRIES_MAX):
            before = files.read(path)
            state = _load(package, meter)
            if files.read(path) != before:
                continue
            answers, events = change(state)
            if not events:
                return answers
            data = _payload(before, state)
            if files.read(path) == before:
                files.replace(path, data)
                _log(package, events, meter)
                return answers
    raise Fault("state_contended", f"{path} keeps changing", retryable=True)


def _load(package: Package, meter: Meter) -> Any:
    with meter.gaia():
        from gaia.engine.inquiry import load_state

        try:
            return load_state(package.root)
        except json.JSONDecodeError as error:
            raise Fault("state_malformed", f"the inquiry state is no JSON: {error}") from None
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            code = "state_newer" if "newer than" in str(error) else "state_malformed"
            raise Fault(code, f"the inquiry state: {error}") from None


def _payload(before: bytes | None, state: Any) -> bytes:
    known = json.loads(before) if before else {}
    return json.dumps(known | state.to_dict(), indent=2, ensure_ascii=False).encode()


def _log(package: Package, events: list[Event], meter: Meter) -> None:
    with meter.gaia():
        from gaia.engine.inquiry import append_tactic_event

        for name, payload in events:
            append_tactic_event(package.root, name, payload)
