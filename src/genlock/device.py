"""From a finished batch in memory to tensors on the device, without the step waiting.

On CUDA a batch is copied as one block on a side stream; the consumer's stream, never the host,
waits for the copy. On a CPU the same path hands out tensors over the block itself.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from genlock._memory import Block, carve, pageable
from genlock.assembly import Collated
from genlock.batch import Batch


class Backend(Protocol):
    """What delivery needs of a device; tests put a simulated one in its place.

    ahead: how many batches may be on their way before the oldest is received. gpu: the index of a
    CUDA device, None for any other.
    """

    ahead: int
    gpu: int | None

    def allocate(self, size: int) -> Block:
        """Host memory for batches."""

    def adopt(self, block: Block) -> Callable[[], object]:
        """Make host memory that another process shares fit for copies; returns what undoes it."""

    def upload(self, collated: Collated) -> Transfer:
        """Begin to copy a batch to the device; does not wait."""


class Transfer(Protocol):
    """A batch on its way."""

    def arrived(self) -> Batch:
        """The batch, safe to use on the caller's current stream; the host does not wait."""

    def finished(self) -> bool:
        """Whether the copy no longer reads host memory."""

    def wait(self) -> None:
        """Block until `finished`."""


class Delivery:
    """Starts copies and keeps the host memory that they read alive until they are done.

    Belongs to the consumer's thread. At most ahead + 1 batches of host memory are held.
    """

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self._copying: deque[tuple[Transfer, Collated]] = deque()

    def send(self, collated: Collated) -> Transfer:
        """Start the copy of a batch; waits for the oldest copy if too many are under way."""
        while len(self._copying) > self.backend.ahead:
            self._copying.popleft()[0].wait()
        transfer = self.backend.upload(collated)
        self._copying.append((transfer, collated))
        self.let_go()
        return transfer

    def let_go(self) -> None:
        """Give host memory back whose copy has ended."""
        while self._copying and self._copying[0][0].finished():
            self._copying.popleft()

    def close(self) -> None:
        """Wait for copies that still read host memory."""
        while self._copying:
            self._copying.popleft()[0].wait()


class HostBackend:
    """Tensors over the batch's own memory; nothing is copied, so nothing is sent ahead."""

    ahead = 1
    gpu: int | None = None
    allocate = staticmethod(pageable)

    def adopt(self, block: Block) -> Callable[[], object]:
        return _nothing

    def upload(self, collated: Collated) -> Transfer:
        return _Resident(collated)


def _nothing() -> None:
    pass


class _Resident:
    def __init__(self, collated: Collated) -> None:
        self._collated = collated

    def arrived(self) -> Batch:
        specs = [spec for _, _, spec in self._collated.layout]
        arrays = carve(self._collated.block, specs)
        return self._collated.batch([torch.from_numpy(a) for a in arrays], torch.from_numpy)

    def finished(self) -> bool:
        return True

    def wait(self) -> None:
        pass


class CudaBackend:
    """Copies each batch as one block from pinned memory on a side stream.

    A tensor made on a side stream can be handed to other work too early by the caching allocator;
    so each one is recorded on the stream that uses it (see `torch.Tensor.record_stream`), and the
    last few batches are kept alive as well.
    """

    ahead = 2

    def __init__(self, device: torch.device, pin_memory: bool = True, keep: int = 2) -> None:
        self.device = device
        self.gpu: int | None = device.index
        self.pin_memory = pin_memory
        self.stream: Any = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        self.recent: deque[Batch] = deque(maxlen=keep)

    def allocate(self, size: int) -> Block:
        if not self.pin_memory:
            return pageable(size)
        pinned: Block = torch.empty(size, dtype=torch.uint8, pin_memory=True).numpy()
        return pinned

    def adopt(self, block: Block) -> Callable[[], object]:
        if not self.pin_memory:
            return _nothing
        runtime: Any = torch.cuda.cudart()  # type: ignore[no-untyped-call]
        address = block.ctypes.data
        if int(runtime.cudaHostRegister(address, block.nbytes, 0)):
            return _nothing  # not allowed here: copies from it are slower, and as right
        return partial(runtime.cudaHostUnregister, address)

    def upload(self, collated: Collated) -> Transfer:
        return _CudaTransfer(self, collated)


class _CudaTransfer:
    def __init__(self, backend: CudaBackend, collated: Collated) -> None:
        self._backend = backend
        self._event: Any = torch.cuda.Event()  # type: ignore[no-untyped-call]
        self._collated: Collated | None = collated
        with torch.cuda.stream(backend.stream):
            block = self._copy(collated.block)
            parts = split_block(block, collated)
            self._batch = collated.batch(parts, self._copy)
            self._event.record(backend.stream)

    def _copy(self, array: NDArray[Any]) -> torch.Tensor:
        return torch.from_numpy(array).to(self._backend.device, non_blocking=True)

    def arrived(self) -> Batch:
        consumer = torch.cuda.current_stream(self._backend.device)
        consumer.wait_event(self._event)
        for tensor in self._batch.tensors():
            tensor.record_stream(consumer)
        self._backend.recent.append(self._batch)
        return self._batch

    def finished(self) -> bool:
        return bool(self._event.query())

    def wait(self) -> None:
        self._event.synchronize()


def split_block(block: torch.Tensor, collated: Collated) -> list[torch.Tensor]:
    """Views of a uint8 tensor as the arrays of a batch's layout."""
    tensors, offset = [], 0
    for _, _, spec in collated.layout:
        part = block[offset : offset + spec.nbytes]
        tensors.append(part.view(torch_dtype(spec.dtype)).reshape(spec.shape))
        offset += -(-spec.nbytes // 64) * 64
    return tensors


def torch_dtype(dtype: np.dtype[Any]) -> torch.dtype:
    """The torch dtype of the same layout."""
    return torch.from_numpy(np.empty(0, dtype)).dtype


DeviceName = str | int | torch.device
Device = DeviceName | Callable[[], DeviceName] | None


def make_backend(device: Device, pin_memory: bool | None) -> Backend:
    """The backend of a device: "cpu" or None, "cuda", an index, a torch.device, or a callable
    that gives one of these when the loader starts (as frameworks supply)."""
    named = device() if callable(device) else device
    chosen = torch.device("cpu" if named is None else named)
    if chosen.type == "cpu":
        return HostBackend()
    if chosen.type != "cuda":
        raise ValueError(f"device {chosen} is neither a CPU nor CUDA")
    if chosen.index is None:
        chosen = torch.device("cuda", torch.cuda.current_device())
    return CudaBackend(chosen, pin_memory is not False)
