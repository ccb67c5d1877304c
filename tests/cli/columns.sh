# Help fits the terminal: at every width it has the same words as in a file, and no line is longer than the terminal is wide.
unset NO_COLOR CLICOLOR_FORCE CLICOLOR
cat > columns.py <<'END'
import re, subprocess, sys

sys.path.append(sys.argv[1])
from terminal import on_terminal

whole = subprocess.run(["tpat", "help"], capture_output=True, text=True, check=True).stdout
commands = [name for name in re.findall(r"^  ([\w-]+) ", whole, re.M) if name not in ("onnx2plugin", "version")]
topics = re.search(r"^Topics[^:]*: ([^.]*)\nExit", whole, re.M | re.S).group(1).replace("\n", " ").split(", ")
checked = 0
for argv in [["tpat", "help"], *(["tpat", name, "--help"] for name in commands), *(["tpat", "help", name.strip()] for name in topics)]:
    words = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split()
    for columns in 80, 71, 60, 100, 107, 200:
        text, status = on_terminal(argv, columns)
        text = re.sub("\x1b\\[[0-9;]*m", "", text)
        if status or text.split() != words:
            print(*argv, columns, "has other words:", status, text)
        for line in text.splitlines():
            # Usage lines, examples and long names are not broken.
            if len(line) > columns and not re.match(r"usage: |  tpat |  \S+ {2,}\S+$", line):
                print(*argv, columns, "has a long line:", line)
        checked += 1
print(checked > 150, "checked")
END
TERM=xterm python3 columns.py $TESTS
