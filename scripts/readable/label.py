"""Which blocks of a page are its text: the share of a block's words that the truth has, each word of the truth used once."""
import bisect
import collections
import re


def words(text):
    """As the benchmark's evaluate.py cuts a text."""
    return re.findall(r"\w+", (text or "").lower())


class Truth:
    def __init__(self, text):
        self.words = words(text)
        self.used = bytearray(len(self.words))
        self.places = collections.defaultdict(list)
        self.fours = collections.defaultdict(list)
        for at, word in enumerate(self.words):
            self.places[word].append(at)
        for at in range(len(self.words) - 3):
            self.fours[tuple(self.words[at : at + 4])].append(at)

    def run(self, block, at):
        """Places of a block's words from a place on, gaps of six words allowed."""
        found = []
        for word in block:
            places = self.places.get(word, ())
            next_ = bisect.bisect_left(places, at)
            while next_ < len(places) and self.used[places[next_]]:
                next_ += 1
            if next_ < len(places) and places[next_] - at <= 6:
                found.append(places[next_])
                at = places[next_] + 1
        return found

    def best_run(self, block):
        best, tried = [], 0
        for offset in range(max(1, len(block) - 3)):
            for at in self.fours.get(tuple(block[offset : offset + 4]), ())[:20]:
                if not self.used[at]:
                    best = max(best, self.run(block, max(0, at - offset)), key=len)
                    tried += 1
            if len(best) > 0.9 * len(block) or tried > 8:
                break
        return best

    def exact(self, block, first, last):
        places = self.places.get(block[0], ())
        for at in places[bisect.bisect_left(places, first) :]:
            if at > last:
                return None
            is_free = not any(self.used[at : at + len(block)])
            if is_free and self.words[at : at + len(block)] == block:
                return at
        return None

    def use(self, places):
        for at in places:
            self.used[at] = 1


def label(blocks, truth):
    """`blocks`: lists of words. Long ones first, by runs of words; short ones where their neighbours stand, then anywhere."""
    truth = Truth(truth)
    labels, where = [0.0] * len(blocks), [None] * len(blocks)
    for number in sorted(range(len(blocks)), key=lambda number: -len(blocks[number])):
        block = blocks[number]
        if len(block) < 6:
            break
        run = truth.best_run(block)
        if len(run) >= 0.5 * len(block) or len(run) >= 8:
            truth.use(run)
            labels[number], where[number] = len(run) / len(block), run[0]
    for window in (40, 400, None):
        label_short(blocks, truth, window, labels, where)
    return labels


def label_short(blocks, truth, window, labels, where):
    end = len(truth.words)
    following, behind = [None] * len(blocks), None
    for number in reversed(range(len(blocks))):
        behind = where[number] if where[number] is not None else behind
        following[number] = behind
    last = None
    for number, block in enumerate(blocks):
        if where[number] is not None:
            last = where[number] + len(block)
        elif 0 < len(block) < 12:
            first, to = 0, end
            if window is not None:
                around = last if last is not None else following[number]
                if around is None:
                    continue
                first, to = max(0, around - (5 if last is not None else window)), around + window
            at = truth.exact(block, first, to)
            if at is not None:
                truth.use(range(at, at + len(block)))
                labels[number], where[number], last = 1.0, at, at + len(block)
