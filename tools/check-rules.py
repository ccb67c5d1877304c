#!/usr/bin/env python3
"""Prints the table of rules of docs/check-plugin.md, from src/engine/tensorrt/host_check_rules.def."""
import os
import re

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
with open("src/engine/tensorrt/host_check_rules.def", encoding="utf-8") as file:
    source = file.read()
print("| method | rule | what to do |\n|---|---|---|")
for row in re.findall(r"^RULE\(\w+,\s*" + r",\s*".join([r'"((?:[^"\\]|\\.)*)"'] * 3) + r"\)", source, re.M):
    print("| " + " | ".join(row) + " |")
