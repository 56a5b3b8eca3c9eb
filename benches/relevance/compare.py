"""F1 of `seine build-model` beside scikit-learn's TF-IDF with logistic regression, on the same pages.

    compare.py SEINE SETS [NAME...]

SEINE is the program, SETS a folder as sets.py makes it. Needs scikit-learn. Each task has a line: pages for the test and
how many of them are relevant; F1 of Seine and its threshold; F1 of logistic regression with scikit-learn's settings, with
balanced classes, and with C and classes chosen by cross-validation. All see the whole visible text with the title."""

import base64
import json
import pathlib
import re
import subprocess
import sys
import tempfile
from html.parser import HTMLParser
from urllib.parse import urlsplit

from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV, GroupKFold, StratifiedKFold

UNSEEN = {"script", "style", "noscript", "template"}


class Text(HTMLParser):
    """The visible text of a page, and its title."""

    def __init__(self):
        super().__init__()
        self.parts, self.unseen = [], 0

    def handle_starttag(self, tag, attributes):
        self.unseen += tag in UNSEEN
        self.parts.append(" ")

    def handle_endtag(self, tag):
        self.unseen -= tag in UNSEEN and self.unseen > 0
        self.parts.append(" ")

    def handle_data(self, data):
        if not self.unseen:
            self.parts.append(data)


def text(page):
    parser = Text()
    try:
        parser.feed(page)
    except AssertionError:
        pass  # some markup is beyond the parser; the text before it counts
    return "".join(parser.parts)


def read(folder):
    texts, classes, sites = [], [], []
    for is_relevant, name in enumerate(["negative", "positive"]):
        for line in open(folder / name / "crawl_data-1-0.jsonl", encoding="utf-8"):
            record = json.loads(line)
            texts.append(text(base64.b64decode(record["content"]).decode("utf-8", "replace")))
            classes.append(is_relevant)
            sites.append(urlsplit(record["url"]).hostname)
    return texts, classes, sites


def by_regression(task):
    (texts, classes, sites), (others, truth, _) = read(task / "train"), read(task / "test")
    vectorizer = TfidfVectorizer(sublinear_tf=True, min_df=2, ngram_range=(1, 2))
    vectors, unknown = vectorizer.fit_transform(texts), vectorizer.transform(others)
    folds = GroupKFold(5) if len(set(sites)) > 50 else StratifiedKFold(5)
    grid = {"C": [1, 10, 100], "class_weight": [None, "balanced"]}
    search = GridSearchCV(LogisticRegression(solver="liblinear"), grid, scoring="f1", cv=folds)
    plain, balanced = (LogisticRegression(solver="liblinear", class_weight=it) for it in [None, "balanced"])
    for model in [plain, balanced, search]:
        fit = model.fit(vectors, classes, groups=sites) if model is search else model.fit(vectors, classes)
        yield f1_score(truth, fit.predict(unknown))


def by_seine(seine, task):
    with tempfile.TemporaryDirectory() as model:
        subprocess.run([seine, "build-model", "-t", task / "train", "-o", model], check=True, capture_output=True)
        yml = (pathlib.Path(model) / "pageclassifier.yml").read_text(encoding="utf-8")
        command = [seine, "test-model", "-m", model, "-t", task / "test"]
        report = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    relevant, others = map(int, re.match(r"(\d+) relevant pages and (\d+) others", report).groups())
    f1 = float(re.search(r"F1 +([\d.]+)", report).group(1))
    return relevant, relevant + others, f1, re.search(r"relevance_threshold: ([\d.]+)", yml).group(1)


def main():
    seine, sets, *names = sys.argv[1:]
    print("| task | pages, relevant | Seine | threshold | regression | balanced | tuned |\n|---|---|---|---|---|---|---|")
    for task in sorted(pathlib.Path(sets).iterdir()):
        if names and task.name not in names:
            continue
        relevant, pages, f1, threshold = by_seine(seine, task)
        others = " | ".join(f"{it:.3f}" for it in by_regression(task))
        print(f"| {task.name} | {pages}, {relevant} | {f1:.3f} | {threshold} | {others} |", flush=True)


main()
