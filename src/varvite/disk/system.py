"""Where writing is promised: Linux, on a file system of this machine."""

import os
import sys

from varvite.errors import UnsupportedSystemError

NETWORK_KINDS = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre", "sshfs"}
    | {"fuse.sshfs", "fuse.glusterfs", "fuse.s3fs", "fuse.rclone", "virtiofs", "davfs", "ncpfs"}
)


MOUNTS = "/proc/self/mountinfo"


def check_writable(path: str, *, network: bool = False, mounts: str = MOUNTS) -> None:
    """Refuse to write where the guarantees cannot be kept.

    `network=True` takes a network file system, which then survives kill -9 only.

    Raises:
        UnsupportedSystemError
    """
    if not sys.platform.startswith("linux"):
        raise UnsupportedSystemError(f"writing on {sys.platform}", hint="sessions can be read here")
    kind = file_system(path, mounts)
    if kind in NETWORK_KINDS and not network:
        raise UnsupportedSystemError(
            f"{path} is on {kind}, a network file system",
            hint="pass network=True (--network-fs) to write with the promise of kill -9 only",
        )


def file_system(path: str, mounts: str = MOUNTS) -> str:
    """The kind of file system that holds `path`, as the kernel names it; empty if unknown."""
    device = os.stat(path).st_dev
    wanted = f"{os.major(device)}:{os.minor(device)}"
    with open(mounts, encoding="utf-8", errors="surrogateescape") as lines:
        for line in lines:
            before, _, after = line.partition(" - ")
            if before.split()[2] == wanted:
                return after.split()[0]
    return ""
