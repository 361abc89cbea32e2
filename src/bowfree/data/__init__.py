"""Data: tables, covariance matrices and conditions become :class:`bowfree.Moments`."""
