#!/usr/bin/env python3
"""A command's output on a terminal.

    tests/terminal.py COMMAND [ARGUMENT ...]     prints it, escapes as ESC

The command runs in a process that keeps the terminal open and ends its output with a mark: a terminal that nobody holds open
any more may drop what was not yet read."""
import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios

END = re.compile(rb"\0END (-?\d+)\0")


def on_terminal(argv, columns=100):
    """What `argv` writes on a terminal of so many columns, and its exit status."""
    child, terminal = pty.fork()
    if child == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        os.write(1, b"\0END %d\0" % subprocess.run(argv, check=False).returncode)
        signal.pause()
    text = b""
    while not (end := END.search(text)):
        text += os.read(terminal, 4096)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(terminal)
    return text[:end.start()].replace(b"\r\n", b"\n").decode(), int(end[1])


if __name__ == "__main__":
    print(on_terminal(sys.argv[1:])[0].replace("\x1b", "ESC"), end="")
