"""make.py WCXB WORK TABLE: makes the readable extractor's table. See README.md."""
import collections
import gzip
import hashlib
import json
import pathlib
import subprocess
import sys
from urllib.parse import urlparse

import lightgbm
import numpy
from sklearn.isotonic import IsotonicRegression

from label import label, words

HERE = pathlib.Path(__file__).parent
FOLDS = 4
ROUNDS = (140, 90)
MARKS, WORDS = 256, 128
SETTINGS = dict(
    objective="cross_entropy", learning_rate=0.08, num_leaves=24, min_data_in_leaf=40, feature_fraction=0.25,
    bagging_fraction=0.8, bagging_freq=1, lambda_l2=5, verbose=-1, num_threads=1, max_bin=63, seed=7,
)


def unpack(wcxb, work):
    """Pages as files, and what is true of each."""
    (work / "pages").mkdir(parents=True, exist_ok=True)
    truths = {}
    for file in sorted((wcxb / "dev/ground-truth").glob("*.json")):
        said = json.loads(file.read_text())
        kind = said["_internal"]["page_type"]["primary"]
        truths[file.stem] = (kind, said["ground_truth"].get("main_content") or "", said.get("url") or file.stem)
        page = gzip.open(wcxb / f"dev/html/{file.stem}.html.gz").read()
        (work / f"pages/{file.stem}.html").write_bytes(page)
    return truths


class Pages:
    """All blocks of all pages, in rows."""

    def __init__(self, work, truths):
        self.work, self.truths = work, truths
        self.dump()
        lines = (work / "blocks.tsv").read_text().rstrip("\n").split("\n")
        names = [line.split("\t", 1)[0][:4] for line in lines]
        self.blocks = [words(line.split("\t", 1)[1]) for line in lines]
        self.ids = sorted(set(names))
        self.starts = numpy.searchsorted(names, self.ids).tolist() + [len(names)]
        self.page = numpy.searchsorted(self.ids, names)
        self.lengths = numpy.array([len(block) for block in self.blocks], dtype=float)
        self.truth = [collections.Counter(words(truths[i][1])) for i in self.ids]
        self.true_words = numpy.array([sum(count.values()) for count in self.truth])
        self.labels = numpy.concatenate(
            [label(self.blocks[a:b], truths[i][1]) for i, a, b in zip(self.ids, self.starts, self.starts[1:])]
        )
        self.fold = numpy.array([fold(truths[i][2]) for i in self.ids])[self.page]
        all_words = numpy.bincount(self.page, self.lengths)
        self.weights = (self.lengths + 0.5) / (50 + self.true_words[self.page] ** 0.8 * all_words[self.page] ** 0.2)
        # Of pages of many blocks some are enough; long ones are kept.
        share = numpy.minimum(1, 120 / numpy.bincount(self.page))[self.page]
        share = numpy.where(self.lengths >= 12, numpy.minimum(1, 3 * share), share)
        self.kept = numpy.random.default_rng(1).random(len(share)) < share
        self.weights /= share

    def dump(self, *first):
        program = HERE / "../../target/release/examples/readable_blocks"
        subprocess.run([program, self.work / "pages", HERE / "vocabulary.txt", self.work, *first], check=True)

    def rows(self):
        """Numbers and marks of every block; marks that are hardly ever there are left out."""
        bits = 2 * MARKS + WORDS
        raw = numpy.fromfile(self.work / "blocks.bin", dtype=numpy.uint8)
        raw = raw.reshape(len(self.blocks), -1)
        split = raw.shape[1] - bits // 8
        numbers = raw[:, :split].copy().view("<f4")
        marks = numpy.unpackbits(raw[:, split:], axis=1, bitorder="little").astype(numpy.float32)
        marks[:, marks.mean(0) <= 0.001] = 0
        return numpy.concatenate([numbers, marks], axis=1)

    def fit(self, rows, wanted, rounds):
        wanted = wanted & self.kept
        data = lightgbm.Dataset(rows[wanted], self.labels[wanted], weight=self.weights[wanted], params=SETTINGS)
        return lightgbm.train(SETTINGS, data, rounds)

    def out_of_fold(self, rows, rounds):
        likely = numpy.zeros(len(rows))
        for number in range(FOLDS):
            held = self.fold == number
            likely[held] = self.fit(rows, ~held, rounds).predict(rows[held], num_threads=1)
        return likely

    def f1(self, number, chosen):
        found = collections.Counter()
        for at in numpy.nonzero(chosen)[0]:
            found.update(self.blocks[self.starts[number] + at])
        said = sum(found.values())
        if not said or not self.true_words[number]:
            return float(said == self.true_words[number])
        return 2 * sum((found & self.truth[number]).values()) / (said + self.true_words[number])

    def measure(self, likely, name):
        """Prints the mean of all pages, those without text included, and of each kind; F1 and what was expected of each page."""
        got, expected, kinds = [], [], collections.defaultdict(list)
        for number, (a, b) in enumerate(zip(self.starts, self.starts[1:])):
            chosen, best = choose(likely[a:b], self.lengths[a:b])
            got.append(self.f1(number, chosen))
            expected.append(best)
            kinds[self.truths[self.ids[number]][0]].append(got[-1])
        for missing in set(self.truths) - set(self.ids):
            kinds[self.truths[missing][0]].append(float(not self.truths[missing][1].strip()))
        every = [value for values in kinds.values() for value in values]
        shown = {kind: round(float(numpy.mean(values)), 3) for kind, values in sorted(kinds.items())}
        print(f"{name}: F1 {numpy.mean(every):.4f} of {len(every)} pages", shown, flush=True)
        return numpy.array(got), numpy.array(expected)


def fold(url):
    site = ".".join((urlparse(url).netloc or url).split(".")[-2:])
    return int(hashlib.md5(site.encode()).hexdigest(), 16) % FOLDS


def choose(likely, lengths):
    """As `choose` of src/parse/readable/mod.rs."""
    order = numpy.argsort(-likely, kind="stable")
    right, taken = numpy.cumsum((likely * lengths)[order]), numpy.cumsum(lengths[order])
    expected = 2 * right / (taken + right[-1] + 1e-9)
    best = int(numpy.argmax(expected))
    chosen = numpy.zeros(len(likely), dtype=bool)
    chosen[order[: best + 1]] = True
    return chosen, expected[best]


def calibration(got, expected):
    parts = numpy.array_split(numpy.argsort(expected), 25)
    means = [expected[part].mean() for part in parts]
    risen = IsotonicRegression().fit_transform(means, [got[part].mean() for part in parts])
    for part in numpy.array_split(numpy.argsort(expected), 10):
        print(f"  expected {expected[part].mean():.3f}, got {got[part].mean():.3f}, of {len(part)} pages")
    return " ".join(f"{mean:.3f}:{value:.3f}" for mean, value in zip(means, risen))


def trees(model, number):
    for tree in model.dump_model()["tree_info"]:
        written, open_ = [], [tree["tree_structure"]]
        while open_:
            node = open_.pop()
            if "split_feature" in node:
                written.append(f"{node['split_feature']}<{node['threshold']:.4g}")
                open_ += [node["right_child"], node["left_child"]]
            else:
                written.append(f"{node['leaf_value']:.4f}" if abs(node["leaf_value"]) >= 5e-5 else "0")
        yield f"{number} {' '.join(written)}"


def main(wcxb, work, table):
    pages = Pages(work, unpack(wcxb, work))
    rows = pages.rows()
    every = numpy.ones(len(rows), dtype=bool)
    first = pages.out_of_fold(rows, ROUNDS[0])
    pages.measure(first, "first look")
    first.astype("<f4").tofile(work / "first.bin")
    models = [pages.fit(rows, every, ROUNDS[0])]
    pages.dump(work / "first.bin")
    rows = pages.rows()
    got, expected = pages.measure(pages.out_of_fold(rows, ROUNDS[1]), "second look")
    models.append(pages.fit(rows, every, ROUNDS[1]))
    marks, texts = (HERE / "vocabulary.txt").read_text().splitlines()
    lines = [
        "seine readable 1",
        "# Made by scripts/readable from the development pages of WCXB (Murrough Foley, CC-BY-4.0); see its README.",
        f"marks {marks}",
        f"words {texts}",
        f"calibration {calibration(got, expected)}",
    ]
    lines += [line for number, model in enumerate(models) for line in trees(model, number)]
    table.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(*map(pathlib.Path, sys.argv[1:4]))
