"""Unpacks the members of a wheel whose names match one of the given patterns.

Usage: unpack_wheel.py WHEEL TARGET_FOLDER PATTERN... (patterns as in fnmatch)
"""

import fnmatch
import os
import shutil
import sys
import time
import zipfile


def main():
    wheel, target, patterns = sys.argv[1], sys.argv[2], sys.argv[3:]
    found = set()
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.infolist():
            matching = [pattern for pattern in patterns if fnmatch.fnmatchcase(member.filename, pattern)]
            if member.is_dir() or not matching:
                continue
            found.update(matching)
            destination = os.path.normpath(os.path.join(target, member.filename))
            if not destination.startswith(os.path.normpath(target) + os.sep):
                sys.exit("unsafe name in the wheel: " + member.filename)
            os.makedirs(os.path.dirname(destination), exist_ok=True)
            # Reading a member to its end checks its CRC.
            with archive.open(member) as source, open(destination, "wb") as output:
                shutil.copyfileobj(source, output, 1 << 20)
            # The archive's own times: unpacking again must not look like new headers to the build.
            modified = time.mktime(member.date_time + (0, 0, -1))
            os.utime(destination, (modified, modified))
    missing = [pattern for pattern in patterns if pattern not in found]
    if missing:
        sys.exit("not in the wheel: " + ", ".join(missing))


main()
