"""The protocol of bench/lib/child.mjs in Python: one JSON request a line on stdin, one answer a line on stdout."""

import json
import sys
import time


def milliseconds_since(start):
    return (time.perf_counter() - start) * 1000


def serve(commands):
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = {"value": commands[request["command"]](request)}
        except Exception as error:  # the parent decides what a failure means
            answer = {"error": f"{type(error).__name__}: {error}"}
        print("@" + json.dumps(answer), flush=True)
