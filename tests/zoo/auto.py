"""The program over the models of the zoo: auto.py FOLDER [NAME ...], by default all.

For each: `tpat list` works; `tpat build --auto` writes a model to FOLDER/NAME.auto.onnx, with PTX for one architecture, or says
that there is nothing to take."""
import concurrent.futures
import glob
import os
import subprocess
import sys

ZOO = os.path.dirname(os.path.abspath(__file__))
TPAT = os.path.join(ZOO, "../../build/tpat")
NOTHING = "has no node that TensorRT refuses and tpat supports", "so --auto selects none"


def run(*argv):
    try:
        done = subprocess.run([TPAT, *argv], stdin=subprocess.DEVNULL, capture_output=True, timeout=300)
    except subprocess.TimeoutExpired:
        return 124, "stopped after 300 seconds"
    return done.returncode, (done.stdout + done.stderr).decode(errors="replace")


def failure_of(job):
    """The reason why the model fails, or None."""
    path, output = job
    status, text = run("list", path)
    if status:
        return f"list: exit {status}: {text[-500:]}"
    status, text = run("build", path, "--auto", "--arch", "compute_75", "--no-db", "--tactics", "1", "-o", output)
    return f"build: exit {status}: {text[-1000:]}" if status and not (status == 4 and any(x in text for x in NOTHING)) else None


def main():
    folder, names = sys.argv[1], sys.argv[2:]
    os.makedirs(folder, exist_ok=True)
    paths = sorted(glob.glob(os.path.join(ZOO, "*.onnx")))
    jobs = [(path, os.path.join(folder, os.path.basename(path)[:-5] + ".auto.onnx")) for path in paths
            if not names or os.path.basename(path)[:-5] in names]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for (path, _), why in zip(jobs, pool.map(failure_of, jobs)):
            failed += why is not None
            if why:
                print(f"FAIL {os.path.basename(path)}: {why}")
    print(f"{len(jobs) - failed} passed, {failed} failed")
    return int(failed > 0 or not jobs)


sys.exit(main())
