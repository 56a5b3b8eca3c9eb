"""Writes the words of languages and their frequencies, which the model is learned from: words.py CLONES WORDS.

CLONES is a folder with clones of the repositories that README.md names. WORDS gets a file for each language of sources.txt.
"""
import collections
import pathlib
import random
import re
import sys
import unicodedata

WORDS = 60_000          # of a language
SENTENCES = 40_000      # of a folder of Common Voice
LINES = 80_000          # of a list of Tesseract
# Lists of addresses and names, and French files with Breton texts.
NO_SENTENCES = re.compile(r"address|cities|place|singleword|countries|LICENSE|toponym|/fr/ofis_")
# Viramas end words for the program, too: they are no letters.
VIRAMAS = "\u094d\u09cd"


def words_of(text):
    word = ""
    for letter in text.lower():
        if letter.isalpha() or unicodedata.category(letter) in ("Mc", "Mn") and letter not in VIRAMAS:
            word += letter
        elif word:
            yield word
            word = ""
    if word:
        yield word


def lines_of(path):
    return path.read_text("utf-8", "replace").splitlines() if path.exists() else []


class Clones:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.english = {}
        for word in lines_of(self.folder / "langdata/eng/eng.wordlist"):
            self.english.setdefault(word.strip().lower(), len(self.english))

    def unilex(self, name):
        """Words with counts."""
        for line in lines_of(self.folder / f"unilex/data/frequency/{name}.txt"):
            word, tab, count = line.partition("\t")
            if tab and count.isdigit():
                yield word, int(count)

    def sentences(self, kind, name):
        if kind == "lin":
            return lines_of(self.folder / f"lingua-rs/language-models/{name}/testdata/sentences.txt")
        found = []
        for path in sorted((self.folder / f"common-voice/server/data/{name}").glob("**/*.txt")):
            if not NO_SENTENCES.search(str(path)) and path.stat().st_size < 4 << 20:
                found += lines_of(path)
        found = list(dict.fromkeys(line.strip() for line in found if len(line) > 15))
        random.Random(1).shuffle(found)
        return found[:SENTENCES]

    def tesseract(self, kind, name, file, spoken, is_english):
        """Words or pairs of words, most frequent first, and a frequency by Zipf's law."""
        repository = {"ld": "langdata", "lstm": "langdata_lstm"}[kind]
        path = self.folder / f"{repository}/{name}/{name}.{file}"
        if path.exists() and path.stat().st_size >= 4 << 20:
            return
        for rank, line in enumerate(lines_of(path)[:LINES]):
            text = line.strip().replace("ﬂ", "fl").replace("ﬁ", "fi").replace("ﬆ", "st")
            is_code = any(letter in '?<=|/"' or letter.isdigit() for letter in text) or text.isupper()
            if text and not is_code and (is_english or not self.all_english(text, spoken)):
                yield text, 1e6 / (rank + 8)

    def all_english(self, text, spoken):
        """The lists are of web pages, which have English words everywhere."""
        for word in text.lower().split():
            rank = self.english.get(word, 1 << 30)
            if spoken and (rank >= 3000 or word in spoken) or not spoken and (rank >= 400 or len(word) <= 2):
                return False
        return True


def frequencies(clones, tag, sources):
    """The mean of the sources, in which sentences weigh 3, UNILEX 2 and lists 1."""
    counted = []
    for kind, names in sources.items():
        for name in names if kind in ("cv", "lin") else []:
            count = collections.Counter(word for line in clones.sentences(kind, name) for word in words_of(line))
            counted.append((3, count))
    spoken = {word for _, count in counted for word, times in count.items() if times >= 3}
    for kind, names in sources.items():
        for name in names if kind not in ("cv", "lin") else []:
            files = [None] if kind == "uni" else ["wordlist", "word.bigrams"]
            for file in files:
                rows = clones.unilex(name) if kind == "uni" else clones.tesseract(kind, name, file, spoken, tag == "en")
                count = collections.Counter()
                for text, times in rows:
                    for word in words_of(text):
                        count[word] += times
                counted.append((2 if kind == "uni" else 1, count))
    total, weights = collections.Counter(), 0
    for weight, count in counted:
        size = sum(count.values())
        weights += weight if size else 0
        for word, times in count.items():
            total[word] += weight * times / size
    return [(word, share / weights) for word, share in total.most_common(WORDS) if len(word) < 40]


def main(clones, out):
    clones, out = Clones(clones), pathlib.Path(out)
    folder = out
    for line in open(pathlib.Path(__file__).parent / "sources.txt", encoding="utf-8"):
        tag, *sources = line.split()
        if tag == "compared":
            folder = out / "compared"
        if line.startswith("#") or tag == "compared":
            continue
        folder.mkdir(parents=True, exist_ok=True)
        sources = dict((kind, names.split(",")) for kind, names in (source.split("=") for source in sources))
        with open(folder / f"{tag}.tsv", "w", encoding="utf-8") as file:
            file.writelines(f"{word}\t{share:.9f}\n" for word, share in frequencies(clones, tag, sources))


if __name__ == "__main__":
    main(*sys.argv[1:])
