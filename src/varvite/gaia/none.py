"""No Gaia: the gate is closed, and what was planned stays planned."""

from varvite.graph.port import GATE_UNAVAILABLE, Failure, NoGaia, Probe


class Without(NoGaia):
    """Knows why: a probe says so, and every call says it in its message."""

    def __init__(self, why: Failure) -> None:
        self.why = why
        self.FAILURE = Failure(GATE_UNAVAILABLE, why.message, retryable=True)

    def probe(self) -> Probe:
        return Probe(failure=self.why)

    def close(self) -> None:
        """Nothing to let go of."""
