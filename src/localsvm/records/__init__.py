"""Plain values in self-verifying bytes."""

from localsvm.records.fields import Fields
from localsvm.records.record import ALIGNMENT, pack, unpack

__all__ = ["ALIGNMENT", "Fields", "pack", "unpack"]
