"""Budgets of time and threads, and the execution of independent tasks."""
