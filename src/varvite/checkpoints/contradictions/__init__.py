"""The job `contradictions`."""
