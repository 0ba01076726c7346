import sys

with open(sys.argv[1]) if len(sys.argv) > 1 else sys.stdin as lines:
    total = 0
    for number, line in enumerate(lines, 1):
        try:
            total += int(line) if line.strip() else 0
        except ValueError:
            sys.exit(f"total: line {number}: not a whole number")
print(total)
