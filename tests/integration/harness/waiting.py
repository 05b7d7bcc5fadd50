"""Waiting for a condition, with a deadline."""

import time


class DeadlineError(AssertionError):
    """A condition did not come true in time."""


def wait_until(condition, timeout=20.0, what="condition", interval=0.02):
    """Returns the first true value of condition(); raises DeadlineError after `timeout` seconds."""
    deadline = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() >= deadline:
            raise DeadlineError(f"not within {timeout} s: {what}")
        time.sleep(interval)


def hold_for(duration, condition, what="condition", interval=0.05):
    """Asserts that condition() stays true for `duration` seconds."""
    end = time.monotonic() + duration
    while time.monotonic() < end:
        assert condition(), f"no longer true: {what}"
        time.sleep(interval)
