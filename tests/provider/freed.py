#!/usr/bin/env python3
"""The last line of fake_gpu.c's log: the GPU worked, and all of it was freed: freed.py LOG"""
import sys

words = open(sys.argv[1], encoding="utf-8").read().splitlines()[-1].split()
count = {name: int(number) for name, number in zip(words[::2], words[1::2])}
unused = [name for name in ("launches", "in", "out", "within", "waits") if not count[name]]
kept = {name: count[name] for name in ("memory", "streams", "events", "modules", "graphs", "contexts") if count[name]}
for fault in ([f"none of: {', '.join(unused)}"] if unused else []) + ([f"not freed: {kept}"] if kept else []):
    print(f"FAIL {fault}")
print(f"{2 - bool(unused) - bool(kept)} passed, {bool(unused) + bool(kept)} failed")
sys.exit(bool(unused or kept))
