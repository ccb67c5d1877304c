"""Shared by the benchmark programs: selection of cases, means, and the JSON file."""
import json
import math
import os

from cases import cases
from drawn import drawn


def add_case_options(parser):
    parser.add_argument("--drawn", default="", metavar="SEED", help="random cases instead of the named ones")
    parser.add_argument("--count", type=int, default=116, help="the number of random cases")


def case_list(o):
    """The cases that these options name, all of bench/cases.py without them."""
    return drawn(o.drawn, o.count) if o.drawn else cases()


def chosen(cases, words, skip):
    """The cases whose name contains one of the words and none of the words to skip."""
    return [c for c in cases if any(w in c.name for w in words) and not any(w in c.name for w in skip.split(",") if w)]


def geometric_mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def write_json(path, value):
    """Writes the whole file or nothing."""
    with open(path + ".tmp", "w", encoding="utf-8") as file:
        json.dump(value, file, indent=1)
    os.replace(path + ".tmp", path)
