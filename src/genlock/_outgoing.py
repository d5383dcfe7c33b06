"""`Outgoing`: the batches of one epoch on their way to the device, ahead of the consumer."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from genlock._threads import ChannelClosed
from genlock._trace import SpanLog
from genlock._work import Batches, Finished
from genlock.errors import ClosedError

if TYPE_CHECKING:  # importing torch takes longer than all else, and a loader imports it late
    from genlock.device import Backend, Delivery, Transfer


class Outgoing:
    """Starts copies while there is room ahead. Belongs to the consumer's thread.

    stock(size, backend): called with the size of each batch before it is sent.
    """

    def __init__(
        self,
        batches: Batches,
        delivery: Delivery,
        spans: SpanLog,
        stock: Callable[[int, Backend], None],
    ) -> None:
        self._batches = batches
        self._delivery = delivery
        self._spans = spans
        self._stock = stock
        self._sent: deque[tuple[Finished, Transfer | None]] = deque()
        self._ending: BaseException | None = None

    def next(self) -> tuple[Finished, Transfer | None]:
        """The next batch in order, and its copy if anything of it is left.

        Raises StopIteration after the last one, ClosedError once stopped, else the error of the
        batch that is next.
        """
        self._send_ready()
        if not self._sent:
            assert self._ending is not None
            raise self._ending
        return self._sent.popleft()

    def _send_ready(self) -> None:
        """Start copies while there is room ahead; wait only if no batch is on its way."""
        while self._ending is None and len(self._sent) < self._delivery.backend.ahead:
            try:
                finished = self._batches.next(wait=not self._sent)
                if finished is None:
                    return
                self._sent.append((finished, self._send(finished)))
            except ChannelClosed:
                closed = self._batches.stopped
                self._ending = ClosedError("this loader is closed") if closed else StopIteration()
            except Exception as error:
                self._batches.stop()
                self._ending = error

    def _send(self, finished: Finished) -> Transfer | None:
        collated = finished.collated
        if collated is None:
            return None
        self._stock(collated.block.nbytes, self._delivery.backend)
        with self._spans.span("copy"):
            return self._delivery.send(collated)
