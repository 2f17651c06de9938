"""What training leaves behind: functions on cells, and prediction with them."""

from localsvm.model.local_model import LocalModel
from localsvm.model.predict import predict_scores

__all__ = ["LocalModel", "predict_scores"]
