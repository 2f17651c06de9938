"""Model files and records taken apart and put together by docs/files.md, without the code that reads and writes."""

import json
import struct
from pathlib import Path
from zlib import crc32

import numpy as np

from localsvm.storage.record import pack, unpack


def record_of(header, data=b""):
    """A record with a right checksum around any header and data."""
    header = header if isinstance(header, bytes) else json.dumps(header).encode()
    begin = -(-(24 + len(header)) // 64) * 64
    checked = struct.pack("<IQ", len(header), begin + len(data)) + header + bytes(begin - 24 - len(header)) + data
    return b"\x93lsvmrec" + struct.pack("<I", crc32(checked)) + checked


def header_of(record):
    """The header of a record, as JSON has it."""
    (size,) = struct.unpack("<I", record[12:16])
    return json.loads(record[24 : 24 + size])


def array_of(record, place):
    """An array of a record, copied."""
    (size,) = struct.unpack("<I", record[12:16])
    dtype, shape, offset = place
    begin = -(-(24 + size) // 64) * 64 + offset
    return np.frombuffer(record, dtype, int(np.prod(shape)), begin).reshape(shape)


class ModelFile:
    """The parts of a model file: head, cells, the record of the model, that of seconds."""

    def __init__(self, content):
        begin, size, size_of_seconds = struct.unpack("<QQQ", content[-36:-12])
        self.head, self.before_seconds = content[:64], content[: begin + size]
        self.whole = content[begin : begin + size]
        self.seconds = content[begin + size : begin + size + size_of_seconds]
        self.places = array_of(self.whole, header_of(self.whole)["places"]["$array"])
        self.cells = [content[first : first + length] for first, length in self.places.tolist()]

    @classmethod
    def read(cls, path):
        return cls(Path(path).read_bytes())

    def value_of_whole(self):
        return unpack(self.whole, "the record of the model")

    def value_of_cell(self, number):
        return unpack(self.cells[number], "a cell")

    def with_whole(self, change):
        """Return the bytes of a file whose record of the model was changed by a function."""
        return self._bytes(self.cells, change)

    def with_cell(self, number, change):
        """Return the bytes of a file of which one cell was changed by a function."""
        value = self.value_of_cell(number)
        change(value)
        cells = list(self.cells)
        cells[number] = b"".join(pack(value))
        ends = 64 + np.cumsum([len(cell) for cell in cells])
        places = np.column_stack([ends - [len(cell) for cell in cells], [len(cell) for cell in cells]])
        return self._bytes(cells, lambda whole: whole.update(places=places))

    def _bytes(self, cells, change):
        value = self.value_of_whole()
        change(value)
        whole = b"".join(pack(value))
        begin = len(self.head) + sum(map(len, cells))
        end = struct.pack("<QQQ", begin, len(whole), len(self.seconds))
        return b"".join([self.head, *cells, whole, self.seconds, end, struct.pack("<I", crc32(end)), b"LSVM-end"])
