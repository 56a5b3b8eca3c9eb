"""facts.py WCXB WORK [HALF]: measures dates and authors on the `dev` split of the benchmark. See README.md."""
import collections
import datetime
import gzip
import hashlib
import json
import pathlib
import re
import subprocess
import sys
from urllib.parse import urlparse

PROGRAM = pathlib.Path(__file__).parent / "../../target/release/examples/facts"
DAY = datetime.timedelta(days=1)
EPOCH = datetime.datetime(1970, 1, 1)


def half(url):
    """0 or 1, the same for all pages of one site."""
    site = ".".join((urlparse(url).netloc or url).split(".")[-2:])
    return int(hashlib.sha256(site.encode()).hexdigest(), 16) % 2


def unpack(wcxb, work):
    """Pages as files with their URLs, and what is true of each."""
    work.mkdir(parents=True, exist_ok=True)
    truths = {}
    for file in sorted((wcxb / "dev/ground-truth").glob("*.json")):
        said = json.loads(file.read_text())
        truths[file.stem] = (said.get("url") or file.stem, said["ground_truth"])
        page = work / f"{file.stem}.html"
        if not page.exists():
            page.write_bytes(gzip.open(wcxb / f"dev/html/{file.stem}.html.gz").read())
    lines = [f"{name}\t{url}\n" for name, (url, _) in truths.items()]
    (work / "urls.tsv").write_text("".join(lines))
    return truths


def seine(work):
    out = subprocess.run([PROGRAM, work], check=True, capture_output=True, text=True).stdout
    return {page["id"]: page for page in map(json.loads, out.splitlines())}


def others(work, truths):
    """What trafilatura and htmldate say, if they are installed. They take minutes, so their answers are kept."""
    kept = work / "others.json"
    if kept.exists():
        return json.loads(kept.read_text())
    try:
        from htmldate import find_date
        from trafilatura.metadata import extract_metadata
    except ImportError:
        return {}
    said = {}
    for name, (url, _) in truths.items():
        page = (work / f"{name}.html").read_bytes()
        facts = extract_metadata(page, default_url=url)
        date = find_date(page.decode(errors="replace"), url=url, original_date=True)
        said[name] = {"author": facts.author, "date": facts.date, "htmldate": date}
    kept.write_text(json.dumps(said))
    return said


def is_day(milliseconds, day):
    """Whether a time is on this day. A midnight is a day without a clock; any other time may be local anywhere."""
    time = EPOCH + datetime.timedelta(milliseconds=milliseconds)
    begin = datetime.datetime.strptime(day, "%Y-%m-%d" if len(day) == 10 else "%Y-%m")
    if time.time() == datetime.time():
        return time == begin
    return begin - 14 * DAY / 24 <= time < begin + DAY + 12 * DAY / 24


def words(names):
    return set(re.findall(r"\w+", names.lower())) - {"and", "by"}


def is_author(found, true):
    """F1 over the words of the names: credentials and middle names may differ."""
    found, true = words(found), words(true)
    return bool(found and true) and 2 * len(found & true) / (len(found) + len(true)) >= 0.8


class Score:
    """Counts of answers: right, wrong, missing where the truth has a value, and extra where it has none."""

    def __init__(self):
        self.counts = collections.Counter()

    def add(self, found, true, is_right):
        kind = ("right" if is_right() else "wrong") if found and true else "missing" if true else "extra" if found else "none"
        self.counts[kind] += 1
        return kind

    def __str__(self):
        right, wrong, missing, extra = (self.counts[kind] for kind in ("right", "wrong", "missing", "extra"))
        precision, recall = right / max(1, right + wrong), right / max(1, right + wrong + missing)
        return f"right {right:>4} wrong {wrong:>4} missing {missing:>4} extra {extra:>4}   precision {precision:.3f} recall {recall:.3f}"


def main(wcxb, work, wanted):
    truths = unpack(wcxb, work)
    ours, theirs = seine(work), others(work, truths)
    scores = collections.defaultdict(Score)
    for name, (url, truth) in truths.items():
        if wanted is not None and half(url) != wanted:
            continue
        page, date, author = ours[name], truth.get("publish_date"), truth.get("author")
        found, names = page["published"], "; ".join(page["author"])
        is_date = lambda: is_day(found, date)
        kind = scores["date, Seine"].add(found, date, is_date)
        scores[f"date, Seine, from {page.get('published_from')}"].add(found, date, is_date)
        who = scores["author, Seine"].add(names, author, lambda: is_author(names, author))
        scores[f"author, Seine, from {page.get('author_from')}"].add(names, author, lambda: is_author(names, author))
        if "-v" in sys.argv:
            shown = found and (EPOCH + datetime.timedelta(milliseconds=found)).isoformat()
            print(f"{name}\tdate\t{kind}\t{shown}\t{date}\t{page.get('published_from')}\t{url}")
            print(f"{name}\tauthor\t{who}\t{names}\t{author}\t{page.get('author_from')}\t{url}")
        if said := theirs.get(name):
            for system, key in (("trafilatura", "date"), ("htmldate", "htmldate")):
                given = said[key]
                scores[f"date, {system}"].add(given, date, lambda: given[: len(date)] == date)
            given = said["author"]
            scores["author, trafilatura"].add(given, author, lambda: is_author(given, author))
    for name, score in sorted(scores.items()):
        print(f"{name:<36} {score}")


if __name__ == "__main__":
    arguments = [argument for argument in sys.argv[1:] if argument != "-v"]
    main(*map(pathlib.Path, arguments[:2]), int(arguments[2]) if len(arguments) > 2 else None)
