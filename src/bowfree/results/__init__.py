"""Shared behavior of results: text, HTML, data frames, plain values."""
