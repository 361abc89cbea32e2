"""Executors that lose tasks, forget them, or run them in the wrong order."""

from concurrent.futures import BrokenExecutor, Executor, Future


class Clumsy(Executor):
    """Runs tasks at once, but loses those whose numbers `lose` selects."""

    def __init__(self, lose):
        self.lose, self.number = lose, 0

    def submit(self, task, /, *given, **named):
        future = Future()
        if self.lose(self.number):
            future.set_exception(BrokenExecutor("gone"))
        else:
            try:
                future.set_result(task(*given, **named))
            except Exception as error:
                future.set_exception(error)
        self.number += 1
        return future


class Backwards(Executor):
    """Collects `size` tasks, and then runs the last one first."""

    def __init__(self, size=4):
        self.size, self.waiting = size, []

    def submit(self, task, /, *given):
        own = Future()
        self.waiting.append((own, task, given))
        if len(self.waiting) == self.size:
            for future, do, with_ in reversed(self.waiting):
                future.set_result(do(*with_))
            self.waiting = []
        return own


class Forgetful(Executor):
    """Like that of dask when its scheduler dies: pending tasks never finish.

    Its client is connecting after some tasks; after `looks` checks its status is `then`, "running"
    or "closed".
    """

    def __init__(self, then, after=2, looks=5):
        self.then, self.after, self.looks = then, after, looks
        self.number = 0
        self._client = self

    @property
    def status(self):
        if self.number < self.after:
            return "running"
        self.looks -= 1
        return "connecting" if self.looks > 0 else self.then

    def submit(self, task, /, *given):
        future = Future()
        self.number += 1
        if self.number > self.after:
            future.set_result(task(*given))
        return future
