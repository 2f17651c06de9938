"""Plain values in self-verifying bytes, and files that are written whole or not at all."""

from localsvm.records.durable import replacing
from localsvm.records.fields import Fields
from localsvm.records.record import ALIGNMENT, pack, unpack

__all__ = ["ALIGNMENT", "Fields", "pack", "replacing", "unpack"]
