"""Executors as they should not be: one loses work, one does it in the wrong order."""

from concurrent.futures import BrokenExecutor, Executor, Future


class Clumsy(Executor):
    """Does the work at once, but loses some of it; `lose` says which of its tasks."""

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
    """Lets so many wait, and then does the last first."""

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
