"""Memory that two processes share. It has no name, so nothing is left over wherever a process dies, and the limit of /dev/shm,
which is 64 MB in many containers, does not apply."""

import mmap
import os

from plait import errors
from plait.inside.later import Later

np = Later("numpy")
_ALIGNMENT = 64


class SharedBytes:
    """Bytes in a file of memory, which grows as needed. One process writes while the other waits."""

    def __init__(self, descriptor):
        self.descriptor, self._map = descriptor, None

    @classmethod
    def create(cls):
        """New memory, whose descriptor is to be sent to the other process."""
        return cls(os.memfd_create("plait-data"))

    def write(self, buffers):
        """Copies buffers (of pickle) into the memory. Returns their places: (offset, size) of each."""
        raw, layout, end = [each.raw() for each in buffers], [], 0
        for each in raw:
            layout.append((end, each.nbytes))
            end += -(-each.nbytes // _ALIGNMENT) * _ALIGNMENT
        self._reach(end, True)
        for each, (offset, size) in zip(raw, layout):
            if size:
                np.frombuffer(self._map, np.uint8, size, offset)[:] = np.frombuffer(each, np.uint8)
        return layout

    def read(self, layout):
        """Copies of the bytes at these places."""
        if not layout:
            return []
        end = max(offset + size for offset, size in layout)
        self._reach(end, False)
        block = np.empty(end, np.uint8)
        if end:
            block[:] = np.frombuffer(self._map, np.uint8, end)
        view = memoryview(block)
        return [view[offset:offset + size] for offset, size in layout]

    def _reach(self, size, grows):
        """Maps `size` bytes or more."""
        if size == 0 or (self._map is not None and len(self._map) >= size):
            return
        if grows:
            size += size // 4  # so that slowly growing batches do not map again and again
            try:
                os.posix_fallocate(self.descriptor, 0, size)
            except OSError as error:
                raise errors.MemoryError(f"DataLoader: a batch needs {size} bytes of shared memory: {error.strerror}") from None
        else:
            size = os.fstat(self.descriptor).st_size
        self._map = mmap.mmap(self.descriptor, size)

    def close(self):
        """Ends the use of the memory in this process."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
        self.descriptor, self._map = -1, None
