"""What training leaves behind: functions on cells, and prediction with them."""

from localsvm.model.local_model import LocalModel
from localsvm.model.predict import decision_values

__all__ = ["LocalModel", "decision_values"]
