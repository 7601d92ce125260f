"""Every exception of the project, one tree.

Grouped by what a caller does about it; `code` is stable, `exit_code` is the command line's.

    VarviteError
    ├── InputError            mend the input                          2
    │   ├── InvalidIdError
    │   ├── InvalidRecordError      .path of the fault in the record
    │   ├── LimitError              .path, .limit
    │   ├── PlanError               finalize cannot go that way
    │   │   └── NoKeptRunsError
    │   └── MalformedInputError     .file, .line, .offset, .path
    ├── NotFoundError         look elsewhere                          3
    │   ├── SessionNotFoundError
    │   ├── NotASessionError        .file is there, and is not ours
    │   └── RecordNotFoundError
    ├── BusyError             wait, then try again                    4
    │   └── SessionLockedError      .pid .host .since
    ├── QueryError            mend the SQL                            5
    ├── DamageError           `varvite verify`, then `repair`         6
    │   ├── CorruptError            .file .offset .batch
    │   └── ForeignIndexError
    ├── NewerFormatError      upgrade; reading still works            7
    ├── ConflictError         read again, decide again                8
    │   ├── StateConflictError      what is asked does not go with what is there
    │   │   └── CursorConflictError .cursor is the session's now: read, and append again
    │   ├── SessionStatusError      .status forbids it
    │   │   └── FinalizeStateError  the session is not to be finalized
    │   ├── SessionExistsError
    │   ├── StaleIndexError         `varvite rebuild`
    │   ├── GitError                .command .stderr: nothing was committed or taken back
    │   │   ├── MergeBaseError      no commit to begin branches at
    │   │   ├── PickConflictError   .group .commit
    │   │   ├── BranchExistsError   .branch
    │   │   └── ExperimentGitNotConfiguredError  Fusion's executor has no git
    │   ├── IterationLimitError     .limit: start another segment, or finalize
    │   │   └── ExperimentMaxIterationsError     as Fusion's executor calls it
    │   ├── ManifestConflictError   another compaction published first
    │   └── ForeignWriterError      something else wrote below an open writer
    ├── StoppedError          run it again, it goes on                9
    └── StorageError          the disk's fault                        1
        ├── DiskFullError           free space; the same handle goes on
        ├── CommitUnknownError      reopen to learn what is there
        ├── WriterPoisonedError     reopen
        └── UnsupportedSystemError
"""

from typing import Any, ClassVar


class VarviteError(Exception):
    code: ClassVar[str] = "internal"
    exit_code: ClassVar[int] = 1
    retryable: ClassVar[bool] = False
    hint: str = ""

    def __init__(self, message: str, *, hint: str = "", **data: Any) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint or self.hint
        self.data = data

    def __getattr__(self, name: str) -> Any:
        """Read the attributes listed in the tree from `data`."""
        data = self.__dict__.get("data", {})
        if name in data:
            return data[name]
        raise AttributeError(name)

    def __str__(self) -> str:
        return f"{self.message}; {self.hint}" if self.hint else self.message

    def as_dict(self) -> dict[str, Any]:
        """The error as one JSON object: code, message, hint, retryable, then its data."""
        head = {"code": self.code, "message": self.message, "hint": self.hint}
        return head | {"retryable": self.retryable} | self.data


class InputError(VarviteError):
    code = "invalid_input"
    exit_code = 2


class InvalidIdError(InputError):
    code = "invalid_id"


class InvalidRecordError(InputError):
    code = "invalid_record"


class LimitError(InputError):
    code = "limit_exceeded"


class PlanError(InputError):
    code = "plan_error"


class NoKeptRunsError(PlanError):
    code = "no_kept_runs"


class MalformedInputError(InputError):
    code = "malformed_input"


class NotFoundError(VarviteError):
    code = "not_found"
    exit_code = 3


class SessionNotFoundError(NotFoundError):
    code = "session_not_found"


class NotASessionError(NotFoundError):
    code = "not_a_session"


class RecordNotFoundError(NotFoundError):
    code = "record_not_found"


class BusyError(VarviteError):
    code = "busy"
    exit_code = 4
    retryable = True


class SessionLockedError(BusyError):
    code = "session_locked"


class QueryError(VarviteError):
    code = "query_failed"
    exit_code = 5


class DamageError(VarviteError):
    code = "damage"
    exit_code = 6
    hint = "run `varvite verify`"


class CorruptError(DamageError):
    code = "corrupt"


class ForeignIndexError(DamageError):
    code = "foreign_index"
    hint = "run `varvite rebuild`"


class NewerFormatError(VarviteError):
    code = "newer_format"
    exit_code = 7


class ConflictError(VarviteError):
    code = "conflict"
    exit_code = 8


class StateConflictError(ConflictError):
    code = "state_conflict"


class CursorConflictError(StateConflictError):
    code = "cursor_conflict"
    retryable = True


class SessionStatusError(ConflictError):
    code = "session_status"


class FinalizeStateError(SessionStatusError):
    code = "state_error"


class SessionExistsError(ConflictError):
    code = "session_exists"


class StaleIndexError(ConflictError):
    code = "stale_index"
    hint = "run `varvite rebuild`"


class GitError(ConflictError):
    code = "git"


class MergeBaseError(GitError):
    code = "merge_base_error"


class PickConflictError(GitError):
    code = "cherry_pick_conflict"


class BranchExistsError(GitError):
    code = "branch_exists"


class ExperimentGitNotConfiguredError(GitError):
    code = "git_not_configured"


class IterationLimitError(ConflictError):
    code = "iteration_limit"


class ExperimentMaxIterationsError(IterationLimitError):
    code = "max_iterations"


class ManifestConflictError(ConflictError):
    code = "manifest_conflict"
    retryable = True


class ForeignWriterError(ConflictError):
    code = "foreign_writer"
    hint = "close this handle, run `varvite verify`, open again"


class StoppedError(VarviteError):
    code = "stopped"
    exit_code = 9
    retryable = True


class StorageError(VarviteError):
    code = "storage"


class DiskFullError(StorageError):
    code = "disk_full"
    retryable = True
    hint = "free some space and append again; nothing of this batch was kept"


class CommitUnknownError(StorageError):
    code = "commit_unknown"
    hint = "open the session again to learn whether the batch is there"


class WriterPoisonedError(StorageError):
    code = "writer_poisoned"
    hint = "open the session again"


class UnsupportedSystemError(StorageError):
    code = "unsupported_system"
