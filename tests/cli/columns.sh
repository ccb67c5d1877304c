# Help fits the terminal: at every width it has the same words as in a file, and no line is longer than the terminal is wide.
unset NO_COLOR CLICOLOR_FORCE CLICOLOR
cat > columns.py <<'END'
import fcntl, os, pty, re, struct, subprocess, sys, termios


def on_terminal(columns, argv):
    child, terminal = pty.fork()
    if child == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        os.execvp(argv[0], argv)
    text = b""
    while True:
        try:
            part = os.read(terminal, 4096)
        except OSError:
            break
        if not part:
            break
        text += part
    os.waitpid(child, 0)
    return re.sub("\x1b\\[[0-9;]*m", "", text.decode())


whole = subprocess.run(["tpat", "help"], capture_output=True, text=True, check=True).stdout
commands = [name for name in re.findall(r"^  ([\w-]+) ", whole, re.M) if name not in ("onnx2plugin", "version")]
topics = re.search(r"^Topics[^:]*: ([^.]*)\nExit", whole, re.M | re.S).group(1).replace("\n", " ").split(", ")
checked = 0
for argv in [["tpat", "help"], *(["tpat", name, "--help"] for name in commands), *(["tpat", "help", name.strip()] for name in topics)]:
    words = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split()
    for columns in 80, 71, 60, 100, 107, 200:
        text = on_terminal(columns, argv)
        if text.split() != words:
            print(*argv, columns, "has other words")
        for line in text.splitlines():
            # Usage lines, examples and long names are not broken.
            if len(line) > columns and not re.match(r"usage: |  tpat |  \S+ {2,}\S+$", line):
                print(*argv, columns, "has a long line:", line)
        checked += 1
print(checked > 150, "checked")
END
TERM=xterm python3 columns.py
