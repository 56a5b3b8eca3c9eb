"""make.py WCXB WORK TABLE: makes the readable extractor's table. See README.md."""
import collections
import gzip
import hashlib
import json
import pathlib
import re
import subprocess
import sys
from urllib.parse import urlparse

import lightgbm
import numpy
from sklearn.isotonic import IsotonicRegression

from label import label, words

HERE = pathlib.Path(__file__).parent
FOLDS = 4
ROUNDS = 140
# What the table has room for, and how many times as many are looked at; no tag of HTML is missing among those.
MARKS, WORDS = 256, 128
CANDIDATES = 8
# A word that fewer sites have says something of these alone.
LEAST_SITES = 15
SETTINGS = dict(
    objective="cross_entropy", learning_rate=0.08, num_leaves=24, min_data_in_leaf=40, feature_fraction=0.25,
    bagging_fraction=0.8, bagging_freq=1, lambda_l2=5, verbose=-1, num_threads=1, max_bin=63, seed=7,
)
# The attributes whose words are marks, and what stands behind these.
ATTRIBUTES = {"class": "", "id": "", "role": "=", "itemprop": "@", "aria-label": "~"}


def unpack(wcxb, work):
    """Pages as files, and what is true of each: its kind, its text, its site."""
    (work / "pages").mkdir(parents=True, exist_ok=True)
    truths = {}
    for file in sorted((wcxb / "dev/ground-truth").glob("*.json")):
        said = json.loads(file.read_text())
        kind = said["_internal"]["page_type"]["primary"]
        truths[file.stem] = (kind, said["ground_truth"].get("main_content") or "", site(said.get("url") or file.stem))
        page = gzip.open(wcxb / f"dev/html/{file.stem}.html.gz").read()
        (work / f"pages/{file.stem}.html").write_bytes(page)
    return truths


def site(url):
    return ".".join((urlparse(url).netloc or url).split(".")[-2:])


def marks_of(page):
    """The words of a page's markup, as vocabulary.rs has them."""
    found = {tag.lower() + "<" for tag in re.findall(r"<([a-zA-Z][a-zA-Z0-9]*)", page)}
    found |= {"!hidden", "!aria-hidden", "!none"}
    pattern = rf"""\b({'|'.join(ATTRIBUTES)})\s*=\s*("[^"]*"|'[^']*'|[^\s>]+)"""
    for name, value in re.findall(pattern, page):
        for word in re.findall(r"[A-Za-z]{2,}", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", value[:400])):
            found.add(word.lower() + ATTRIBUTES[name])
    return found


def most_sites(found, count):
    """Of what is found on pages, as pairs of a site and a set, what most sites have."""
    sites = collections.defaultdict(set)
    for where, those in found:
        for one in those:
            sites[one].add(where)
    return sorted(sites, key=lambda one: (-len(sites[one]), one))[:count]


class Pages:
    """All blocks of all pages, in rows."""

    def __init__(self, work, truths):
        self.work, self.truths = work, truths
        self.numbers, _ = self.dump([], [])
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
        _, self.site = numpy.unique([truths[i][2] for i in self.ids], return_inverse=True)
        all_words = numpy.bincount(self.page, self.lengths)
        self.fair = (self.lengths + 0.5) / (50 + self.true_words[self.page] ** 0.8 * all_words[self.page] ** 0.2)
        # Of pages of many blocks some are enough; long ones are kept.
        share = numpy.minimum(1, 120 / numpy.bincount(self.page))[self.page]
        share = numpy.where(self.lengths >= 12, numpy.minimum(1, 3 * share), share)
        self.kept = numpy.random.default_rng(1).random(len(share)) < share
        self.weights = self.fair / share
        self.find_candidates()

    def dump(self, marks, texts):
        """The numbers of all blocks, and as bits which marks are around them, which near them, and which words they have."""
        program = HERE / "../../target/release/examples/readable_blocks"
        (self.work / "vocabulary.txt").write_text(" ".join(marks) + "\n" + " ".join(texts) + "\n")
        subprocess.run([program, self.work / "pages", self.work / "vocabulary.txt", self.work], check=True)
        pages = (self.work / "blocks.tsv").read_bytes().count(b"\n")
        raw = numpy.fromfile(self.work / "blocks.bin", dtype=numpy.uint8).reshape(pages, -1)
        split = raw.shape[1] - (2 * MARKS + WORDS) // 8
        bits = numpy.split(raw[:, split:], [MARKS // 8, 2 * MARKS // 8], axis=1)
        return raw[:, :split].copy().view("<f4"), bits

    def find_candidates(self):
        """Which words are looked at: those of most sites, whatever they tell."""
        pages = ((i, (self.work / f"pages/{i}.html").read_text(errors="replace")) for i in self.ids)
        self.marks = most_sites(((self.truths[i][2], marks_of(page)) for i, page in pages), CANDIDATES * MARKS)
        short = ((number, block) for number, block in zip(self.page, self.blocks) if len(block) <= 40)
        self.texts = most_sites(((self.site[number], block) for number, block in short), CANDIDATES * WORDS)
        parts = [
            self.dump(self.marks[n * MARKS : (n + 1) * MARKS], self.texts[n * WORDS : (n + 1) * WORDS])[1]
            for n in range(CANDIDATES)
        ]
        self.around, self.near, self.told = (numpy.concatenate(part, axis=1) for part in zip(*parts))

    def vocabulary(self, wanted):
        """The numbers of the marks and words that tell most of the labels of the blocks that are wanted, best first."""
        around, near, told = (self.told_by(bits, wanted) for bits in (self.around, self.near, self.told))
        marks = numpy.maximum(around, 1.3 * near)
        return numpy.argsort(-marks, kind="stable")[:MARKS], numpy.argsort(-told, kind="stable")[:WORDS]

    def told_by(self, bits, wanted):
        """How much each of many bits tells of the labels."""
        weights, labels, told = self.fair[wanted], self.labels[wanted], []
        both = numpy.stack([weights, weights * labels]).astype(numpy.float32)
        all_, right = both.sum(1, dtype=float)
        sites = self.site[self.page[wanted]]
        for at in range(0, bits.shape[1], 16):
            those = numpy.unpackbits(bits[wanted, at : at + 16], axis=1, bitorder="little").astype(numpy.float32)
            there, right_there = (both @ those).astype(float)
            rest = all_ - there
            left = there * doubt(right_there / numpy.maximum(there, 1e-9))
            left += rest * doubt((right - right_there) / numpy.maximum(rest, 1e-9))
            known = [len(numpy.unique(sites[column > 0])) >= LEAST_SITES for column in those.T]
            told.append((doubt(right / all_) - left / all_) * known)
        return numpy.concatenate(told)

    def rows(self, vocabulary, wanted):
        """What the trees are given of the blocks that are wanted."""
        marks, texts = vocabulary
        columns = [(self.around, marks, MARKS), (self.near, marks, MARKS), (self.told, texts, WORDS)]
        rows = numpy.zeros((numpy.count_nonzero(wanted), self.numbers.shape[1] + 2 * MARKS + WORDS), numpy.float32)
        rows[:, : self.numbers.shape[1]] = self.numbers[wanted]
        at = self.numbers.shape[1]
        for bits, chosen, room in columns:
            for column, number in enumerate(chosen):
                rows[:, at + column] = bits[wanted, number // 8] >> (number % 8) & 1
            at += room
        return rows

    def fit(self, vocabulary, wanted):
        wanted = wanted & self.kept
        rows = self.rows(vocabulary, wanted)
        data = lightgbm.Dataset(rows, self.labels[wanted], weight=self.weights[wanted], params=SETTINGS)
        return lightgbm.train(SETTINGS, data, ROUNDS)

    def out_of_fold(self):
        """What comes out for each block by trees, and of words, that saw nothing of its fold."""
        likely = numpy.zeros(len(self.blocks))
        for number in range(FOLDS):
            held = self.fold == number
            vocabulary = self.vocabulary(~held)
            likely[held] = self.fit(vocabulary, ~held).predict(self.rows(vocabulary, held), num_threads=1)
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


def doubt(likely):
    likely = numpy.clip(likely, 1e-9, 1 - 1e-9)
    return -(likely * numpy.log(likely) + (1 - likely) * numpy.log(1 - likely))


def fold(site):
    return int(hashlib.md5(site.encode()).hexdigest(), 16) % FOLDS


def choose(likely, lengths):
    """As `choose` of crates/parse/src/readable/mod.rs."""
    order = numpy.argsort(-likely, kind="stable")
    right, taken = numpy.cumsum((likely * lengths)[order]), numpy.cumsum(lengths[order])
    expected = 2 * right / (taken + right[-1] + 1e-9)
    best = int(numpy.argmax(expected))
    chosen = numpy.zeros(len(likely), dtype=bool)
    chosen[order[: best + 1]] = True
    return chosen, expected[best]


def calibration(got, expected):
    parts = numpy.array_split(numpy.argsort(expected, kind="stable"), 25)
    means = [expected[part].mean() for part in parts]
    risen = IsotonicRegression().fit_transform(means, [got[part].mean() for part in parts])
    for part in numpy.array_split(numpy.argsort(expected, kind="stable"), 10):
        print(f"  expected {expected[part].mean():.3f}, got {got[part].mean():.3f}, of {len(part)} pages")
    return " ".join(f"{mean:.3f}:{value:.3f}" for mean, value in zip(means, risen))


def trees(model):
    for tree in model.dump_model()["tree_info"]:
        written, open_ = [], [tree["tree_structure"]]
        while open_:
            node = open_.pop()
            if "split_feature" in node:
                written.append(f"{node['split_feature']}<{node['threshold']:.4g}")
                open_ += [node["right_child"], node["left_child"]]
            else:
                written.append(f"{node['leaf_value']:.4f}" if abs(node["leaf_value"]) >= 5e-5 else "0")
        yield " ".join(written)


def main(wcxb, work, table):
    pages = Pages(work, unpack(wcxb, work))
    got, expected = pages.measure(pages.out_of_fold(), "out of fold")
    every = numpy.ones(len(pages.blocks), dtype=bool)
    marks, texts = pages.vocabulary(every)
    model = pages.fit((marks, texts), every)
    pages.measure(model.predict(pages.rows((marks, texts), every), num_threads=1), "pages that were seen")
    lines = [
        "seine readable 2",
        "# Made by scripts/readable from the development pages of WCXB (Murrough Foley, CC-BY-4.0); see its README.",
        "marks " + " ".join(pages.marks[number] for number in marks),
        "words " + " ".join(pages.texts[number] for number in texts),
        "calibration " + calibration(got, expected),
    ]
    table.write_text("\n".join([*lines, *trees(model)]) + "\n")


if __name__ == "__main__":
    main(*map(pathlib.Path, sys.argv[1:4]))
