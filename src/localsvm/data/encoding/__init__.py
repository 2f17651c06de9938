"""Encoding of tables: numbers, missing values, dates and categories as columns in which distances make sense."""

from localsvm.data.encoding.coded import CodedRows
from localsvm.data.encoding.encoding import EncodedRows, Encoding, ModelColumn, View
from localsvm.data.encoding.learn import LearnedEncoding, encode_as_given, learn_encoding
from localsvm.data.encoding.numbers import TRANSFORMS
from localsvm.data.encoding.target_means import class_indicators

__all__ = [
    "TRANSFORMS",
    "CodedRows",
    "EncodedRows",
    "Encoding",
    "LearnedEncoding",
    "ModelColumn",
    "View",
    "class_indicators",
    "encode_as_given",
    "learn_encoding",
]
