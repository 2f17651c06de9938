"""The metric of a model: scaling, feature weights and kernel, chosen by training pilot cells on a sample.

Its result is used before cells are built, but it decides by training cells, so it comes after `cell` in the order of
imports.
"""
