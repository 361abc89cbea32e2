"""Causal effects (section 4.1 of the paper).

``bounds`` has the range of an effect over all graphs that fit alike, ``intervention`` what would
happen if a variable were set.
"""
