"""Learns `ODDS` of crates/parse/src/language/candidate.rs: odds.py EVIDENCE, from `language_measure --evidence FOLDER...`.

Logistic regression (Newton's method). Texts in unknown languages weigh as if they were 6 % of all. Of the pages of the web they are
rather 1.6 %, which the constant then takes into account.
"""
import math
import sys

UNKNOWN = 0.06
UNKNOWN_ON_THE_WEB = 0.016


def read(path):
    rows = []
    for line in open(path, encoding="utf-8"):
        tag, known, found, *factors = line.rstrip("\n").split("\t")
        if found != "-":
            rows.append((tag == found, known == "1", [float(factor) for factor in factors]))
    return rows


def solve(matrix, vector):
    """Gauss-Jordan."""
    size = len(vector)
    rows = [row[:] + [value] for row, value in zip(matrix, vector)]
    for at in range(size):
        pivot = max(range(at, size), key=lambda row: abs(rows[row][at]))
        rows[at], rows[pivot] = rows[pivot], rows[at]
        for other in range(size):
            if other != at:
                factor = rows[other][at] / rows[at][at]
                rows[other] = [a - factor * b for a, b in zip(rows[other], rows[at])]
    return [rows[at][size] / rows[at][at] for at in range(size)]


def learn(rows):
    known = sum(row[1] for row in rows)
    unknown_weight = UNKNOWN / (1 - UNKNOWN) * known / max(1, len(rows) - known)
    size = len(rows[0][2])
    odds = [0.0] * size
    for _ in range(25):
        gradient = [-1e-3 * value for value in odds]
        hessian = [[1e-3 if i == j else 0.0 for j in range(size)] for i in range(size)]
        for right, is_known, factors in rows:
            weight = 1.0 if is_known else unknown_weight
            sum_ = sum(a * b for a, b in zip(odds, factors))
            p = 1 / (1 + math.exp(-max(-30.0, min(30.0, sum_))))
            slope = weight * p * (1 - p)
            for i, factor in enumerate(factors):
                gradient[i] += weight * (right - p) * factor
                for j in range(i + 1):
                    hessian[i][j] += slope * factor * factors[j]
        for i in range(size):
            for j in range(i):
                hessian[j][i] = hessian[i][j]
        step = solve(hessian, gradient)
        odds = [value + change for value, change in zip(odds, step)]
        if max(map(abs, step)) < 1e-6:
            break
    odds[0] += math.log(UNKNOWN / (1 - UNKNOWN)) - math.log(UNKNOWN_ON_THE_WEB / (1 - UNKNOWN_ON_THE_WEB))
    return odds


if __name__ == "__main__":
    print(", ".join(f"{value:.3f}" for value in learn(read(sys.argv[1]))))
