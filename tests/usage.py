"""What a command used: CPU seconds and the most memory that it held.

A process of its own starts the command. Linux counts as the command's memory what its parent held between fork and exec, which
would be everything that a long test or benchmark has read so far.
"""
import json
import os
import subprocess
import sys
from dataclasses import dataclass


@dataclass
class Usage:
    code: int  # exit status
    cpu_seconds: float
    peak_bytes: int
    said: str  # what the command wrote to its error output


def usage_of(words, folder=None):
    words = [str(word) for word in words]
    result = subprocess.run([sys.executable, __file__, *words], cwd=folder, capture_output=True, text=True, check=True)
    return Usage(said=result.stderr, **json.loads(result.stdout))


if __name__ == "__main__":
    _, status, used = os.wait4(subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL).pid, 0)
    print(json.dumps({"code": os.waitstatus_to_exitcode(status), "cpu_seconds": used.ru_utime + used.ru_stime,
                      "peak_bytes": used.ru_maxrss * 1024}))
