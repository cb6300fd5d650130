"""Runs a program in a pseudo terminal: stdin is typed into it, what it prints goes to stdout.

Usage: run_in_terminal.py PROGRAM ARGUMENT...   Ends with the program's exit code (128 + n for a signal).
"""

import os
import pty
import select
import sys


def main():
    child, terminal = pty.fork()
    if child == 0:
        os.execvp(sys.argv[1], sys.argv[1:])
    sources = [terminal, 0]
    while terminal in sources:
        for ready in select.select(sources, [], [])[0]:
            try:
                data = os.read(ready, 65536)
            except OSError:
                # Linux reports the end of a pseudo terminal as an error.
                data = b""
            if not data:
                sources.remove(ready)
            elif ready == terminal:
                os.write(1, data)
            else:
                os.write(terminal, data)
    status = os.waitpid(child, 0)[1]
    sys.exit(os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status))


main()
