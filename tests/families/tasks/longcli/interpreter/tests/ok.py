import subprocess
import sys


def value(expression):
    return subprocess.run([sys.executable, "calc.py", expression], capture_output=True, text=True).stdout.strip()


if value("0+0") == "crash":
    sys.exit("Traceback (most recent call last): the grader itself stopped")
print("Score:")
print(f"    Total: {2.0 * (value('1+2') == '3') + 2.0 * (value('2*3') == '6')}")
