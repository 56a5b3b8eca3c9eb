"""Makes labelled pages from three public collections, for compare.py.

    sets.py OUT [--wcxb FOLDER] [--webkb FOLDER] [--newsgroups FOLDER]

- WCXB (github.com/Murrough-Foley/web-content-extraction-benchmark, CC-BY-4.0): 2,008 pages of 1,613 domains. The task
  is to find the pages of one type. The test is a third of the domains; its own split has some pages on both sides.
- WebKB (github.com/namaemonaishi/WebKB-classification has its files in bert/webkb): 8,282 pages of computer science
  departments. The task is to find the pages of courses, or of students; the test is a university.
- 20 Newsgroups (github.com/gokriznastic/20-newsgroups_text-classification): 19,997 articles. Each becomes a page with
  its subject as title. The test is the last two fifths of each group by number.

OUT gets a folder for each task: train and test, each with positive and negative, as examples for `seine build-model`."""

import argparse
import base64
import gzip
import html
import json
import pathlib
import re
import zlib
from urllib.parse import urlsplit

TYPES = ["article", "collection", "documentation", "forum", "listing", "product", "service"]


def write(folder, pages):
    """`pages`: URL, bytes of HTML, whether it is relevant, whether it is for the test."""
    files, seen = {}, set()
    for url, page, is_relevant, is_test in pages:
        # `seine build-model` refuses a page that is in both classes.
        if page in seen or seen.add(page):
            continue
        part = folder / ("test" if is_test else "train") / ("positive" if is_relevant else "negative")
        if part not in files:
            part.mkdir(parents=True, exist_ok=True)
            files[part] = open(part / "crawl_data-1-0.jsonl", "w", encoding="utf-8")
        record = {
            "url": url, "redirected_url": None, "content": base64.b64encode(page).decode(), "content_type": "text/html",
            "response_headers": {}, "fetch_time": 1_795_271_825_985,
            "relevance": {"relevance": 1.0, "isRelevant": True}, "crawler_id": "sets",
        }
        files[part].write(json.dumps(record) + "\n")
    for file in files.values():
        file.close()
    print(folder)


def wcxb(folder, out):
    pages = []
    for path in sorted(folder.glob("*/ground-truth/*.json")):
        facts, part = json.loads(path.read_text(encoding="utf-8")), path.parent.parent
        host = urlsplit(facts.get("url", "")).hostname
        if not host:
            continue  # a few pages have no URL
        page = gzip.decompress((part / "html" / f"{path.stem}.html.gz").read_bytes())
        domain = ".".join(host.split(".")[-2:])
        is_test = zlib.crc32(domain.encode()) % 3 == 0
        pages.append((facts["url"], page, facts["_internal"]["page_type"]["primary"], is_test))
    for kind in TYPES:
        write(out / f"wcxb-{kind}", ((url, page, it == kind, is_test) for url, page, it, is_test in pages))


def webkb(folder, out):
    pages = []
    for path in sorted(path for path in folder.glob("*/*/*") if path.is_file()):
        kind, university = path.parts[-3], path.parts[-2]
        # A file is named by its URL; some copies have another character for the colon. It begins with the headers.
        scheme, _, rest = path.name.partition("^^")
        if not scheme.startswith("http"):
            continue  # some forty of ftp
        url = "http://" + rest.replace("^", "/")
        page = re.split(rb"\r?\n\r?\n", path.read_bytes(), maxsplit=1)[-1]
        pages.append((url, page, kind, university))
    for kind in ["course", "student"]:
        for university in ["texas", "wisconsin"]:
            of = ((url, page, it == kind, where == university) for url, page, it, where in pages)
            write(out / f"webkb-{kind}-{university}", of)


def article(path):
    """An article as a page: its subject and its text, without the other headers."""
    headers, _, text = path.read_text(encoding="latin-1").partition("\n\n")
    subject = re.search(r"^Subject: *(?:Re: *)*(.*)$", headers, re.MULTILINE | re.IGNORECASE)
    title = html.escape(subject.group(1) if subject else "")
    paragraphs = (f"<p>{html.escape(part)}</p>" for part in re.split(r"\n\s*\n", text))
    return f"<!doctype html><meta charset=utf-8><title>{title}</title><body>{''.join(paragraphs)}".encode()


def newsgroups(folder, out):
    pages = {}
    for group in sorted(path for path in folder.iterdir() if path.is_dir()):
        paths = sorted(group.iterdir(), key=lambda path: int(path.name))
        pages[group.name] = [(path.name, article(path), at >= len(paths) * 3 // 5) for at, path in enumerate(paths)]
    tasks = {
        "news-ibm-or-mac": ("comp.sys.ibm.pc.hardware", ["comp.sys.mac.hardware"]),
        "news-atheism-or-religion": ("alt.atheism", ["talk.religion.misc"]),
        "news-electronics": ("sci.electronics", [group for group in pages if group != "sci.electronics"]),
        "news-med": ("sci.med", [group for group in pages if group != "sci.med"]),
    }
    for name, (wanted, others) in tasks.items():
        of = (
            (f"http://news.test/{number}", page, group == wanted, is_test)
            for group in [wanted, *others] for number, page, is_test in pages[group]
        )
        write(out / name, of)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    sources = {"wcxb": wcxb, "webkb": webkb, "newsgroups": newsgroups}
    for name in sources:
        parser.add_argument(f"--{name}", type=pathlib.Path)
    args = vars(parser.parse_args())
    for name, make in sources.items():
        if args[name]:
            make(args[name], args["out"])


main()
