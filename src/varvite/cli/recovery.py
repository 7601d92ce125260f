"""What a writer that opened a session after a crash tells the user."""

from typing import TYPE_CHECKING

from varvite.cli.settings import Settings

if TYPE_CHECKING:
    from varvite.session.recovery import Recovered


def note_recovered(settings: Settings, found: "Recovered | None") -> None:
    if found:
        settings.note(
            f"recovered: {found.bytes_cut} bytes of a batch that nobody was promised were cut from "
            f"{found.file} at byte {found.offset}, and are kept as {found.quarantined}"
        )
