"""Child processes that do not outlive a test run that was killed."""

import ctypes
import signal

_libc = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG = 1


def end_with_parent(number=signal.SIGKILL):
    """For preexec_fn: the kernel sends `number` to this process when the starting thread ends."""
    _libc.prctl(_PR_SET_PDEATHSIG, number)
