"""HTTP connections with a time limit for their headers: half-sent requests cannot occupy the server."""

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

HEADER_SECONDS = (
    5.0  # from the first moment of a connection, or the first byte of a later request, to the end of its headers
)


class TimedProtocol(H11Protocol):
    """uvicorn's protocol, which closes a connection whose request headers do not arrive in time."""

    timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport) -> None:
        super().connection_made(transport)
        self._start()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self._waiting():
            self._cancel()
        elif self.timer is None:
            self._start()

    def connection_lost(self, exc) -> None:
        self._cancel()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        self._cancel()
        super().on_response_complete()

    def _waiting(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _start(self) -> None:
        self.timer = self.loop.call_later(HEADER_SECONDS, self._expired)

    def _cancel(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None

    def _expired(self) -> None:
        self.timer = None
        if self._waiting() and self.transport is not None and not self.transport.is_closing():
            self.transport.close()
