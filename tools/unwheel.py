"""Extracts one file from the wheel in a folder: unwheel.py FOLDER NAME-IN-WHEEL OUTPUT."""
import glob
import os
import sys
import zipfile

folder, name, output = sys.argv[1:]
wheels = glob.glob(os.path.join(folder, "*.whl"))
if len(wheels) != 1:
    sys.exit(f"{folder}: expected one wheel, found {len(wheels)}")
with zipfile.ZipFile(wheels[0]) as wheel, open(output + ".part", "wb") as out:
    out.write(wheel.read(name))
os.rename(output + ".part", output)
