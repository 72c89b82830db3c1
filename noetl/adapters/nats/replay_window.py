"""Which numbered messages of a sender were heard before; not what they say, and not who signed them."""

from collections import OrderedDict

WINDOW = 4096  # so far behind the newest message of its sender one may arrive
SENDERS_MOST = 10_000
_MASK = (1 << WINDOW) - 1


class ReplayWindow:
    """The newest number of each sender, and which of those shortly before it were heard."""

    def __init__(self) -> None:
        self._senders: OrderedDict[bytes, tuple[int, int]] = OrderedDict()

    def __contains__(self, sender: bytes) -> bool:
        return sender in self._senders

    def accept(self, sender: bytes, number: int) -> bool:
        """Whether this is the first time that a message is heard; it is remembered."""
        newest, window = self._senders.get(sender, (0, 0))
        if number > newest:
            window = ((window << min(number - newest, WINDOW)) | 1) & _MASK
            newest = number
        else:
            bit = 1 << (newest - number) if newest - number < WINDOW else 0
            if not bit or window & bit:
                return False
            window |= bit
        self._senders[sender] = (newest, window)
        self._senders.move_to_end(sender)
        if len(self._senders) > SENDERS_MOST:
            self._senders.popitem(last=False)
        return True
