"""Since when a server could hear its workers: their silence counts only from then on."""


class SilenceClock:
    """The ear of one server, looked at again and again by the clock of its process."""

    def __init__(self, lease_s: float) -> None:
        self._patience = lease_s / 2
        self._since = 0.0
        self._looked: float | None = None

    def since(self, now: float, bus_quiet_s: float) -> float:
        """From when on silence counts: since the bus speaks to us and this process has not stood still."""
        stood_still = self._looked is not None and now - self._looked > self._patience
        if stood_still or bus_quiet_s > self._patience:
            self._since = now
        self._looked = now
        return self._since

    def missed(self, now: float) -> None:
        """Something came that could not be listened to: the count begins again."""
        self._since = now
