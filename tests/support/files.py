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


def data_of(record):
    """The bytes of a record that follow its header: the arrays."""
    (size,) = struct.unpack("<I", record[12:16])
    return record[-(-(24 + size) // 64) * 64 :]


class ModelFile:
    """The parts of a model file: head, models that predict with it, cells, the record of the model, that of seconds."""

    def __init__(self, content):
        begin, size, size_of_seconds = struct.unpack("<QQQ", content[-36:-12])
        self.head, self.before_seconds = content[:64], content[: begin + size]
        self.whole = content[begin : begin + size]
        self.seconds = content[begin + size : begin + size + size_of_seconds]
        header = header_of(self.whole)
        self.places = array_of(self.whole, header["places"]["$array"])
        self.cells = [content[first : first + length] for first, length in self.places.tolist()]
        others = array_of(self.whole, header["models"]["$array"]).tolist() if "models" in header else []
        self.others = [content[first : first + length] for first, length in others]

    @classmethod
    def read(cls, path):
        return cls(Path(path).read_bytes())

    def value_of_whole(self):
        return unpack(self.whole, "the record of the model")

    def value_of_cell(self, number):
        return unpack(self.cells[number], "a cell")

    def with_whole(self, change):
        """Return the bytes of a file whose record of the model was changed by a function."""
        value = self.value_of_whole()
        change(value)
        return self.with_records(whole=b"".join(pack(value)))

    def with_cell(self, number, change):
        """Return the bytes of a file of which one cell was changed by a function."""
        value = self.value_of_cell(number)
        change(value)
        return self.with_records(cells=_with_item(self.cells, number, b"".join(pack(value))))

    def with_other(self, number, content):
        """Return the bytes of a file of which another content has taken the place of one of the other models."""
        return self.with_records(others=_with_item(self.others, number, content))

    def with_records(self, *, whole=None, cells=None, others=None, seconds=None):
        """Return the bytes of a file with other records, which are found where they are."""
        if cells is not None or others is not None:
            cells, others = cells or self.cells, self.others if others is None else others
            padded = [other + bytes(-len(other) % 64) for other in others]
            value = self.value_of_whole()
            value["places"] = _places(cells, 64 + sum(map(len, padded)))
            if others:
                value["models"] = _places(padded, 64) - [[0, -len(other) % 64] for other in others]
            whole = b"".join(pack(value))
            before = b"".join([self.head, *padded, *cells])
        else:
            before = self.before_seconds[: -len(self.whole)]
        whole, seconds = whole or self.whole, seconds or self.seconds
        end = struct.pack("<QQQ", len(before), len(whole), len(seconds))
        return b"".join([before, whole, seconds, end, struct.pack("<I", crc32(end)), b"LSVM-end"])


def _with_item(items, number, item):
    return [*items[:number], item, *items[number + 1 :]]


def _places(parts, begin):
    """Where parts are that follow each other, and how long they are."""
    sizes = np.array([len(part) for part in parts], dtype=np.int64)
    return np.column_stack([begin + np.cumsum(sizes) - sizes, sizes])
