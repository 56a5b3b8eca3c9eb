#!/usr/bin/env python3
"""Reads the pages that Seine sends to a Kafka topic; prints one JSON object a page, each page once,
and one for each that is gone.

    pip install -r requirements.txt
    python3 pages.py localhost:9092 pages my-group               # goes on until Ctrl-C
    python3 pages.py localhost:9092 pages my-group --until-end   # stops behind the last message

Understands every `kafka.format`: the header `schema` says which one a message has.
"""

import argparse
import base64
import json
import re
import sys
from collections import OrderedDict
from urllib.parse import unquote_plus

from confluent_kafka import Consumer, KafkaError, KafkaException


class Seen:
    """The last event ids. Seine delivers at least once: after a crash or an outage an event can come again."""

    def __init__(self, most=100_000):
        self.ids, self.most = OrderedDict(), most

    def is_new(self, event_id):
        if event_id in self.ids:
            return False
        self.ids[event_id] = None
        if len(self.ids) > self.most:
            self.ids.popitem(last=False)
        return True


def page_of(schema, value):
    """URL, type and, where it is text, text of the page; `content` are its bytes where the format has them."""
    document = json.loads(value)
    if schema == "files":
        content = base64.b64decode(document["content"])
        content_type = document["content_type"] or ""
        return document["url"], content_type, content, text_of(content, content_type)
    if schema == "cdr-3.1":
        return document["url"], document["content_type"], None, document["raw_content"]
    if schema == "elastic":
        return document["url"], document["contentType"] or "", None, document["html"]
    raise ValueError(f"the schema {schema!r} is not known here")


def text_of(content, content_type):
    """The body as text, in the charset of its header, else of its <meta>, else UTF-8. None for what is no text."""
    media_type = content_type.partition(";")[0].strip().lower()
    if not media_type.startswith("text/") and not media_type.endswith(("xml", "json")):
        return None
    named = re.search(r"charset\s*=\s*[\"']?([^\s;\"'>]+)", content_type, re.IGNORECASE) or re.search(
        r"<meta[^>]+charset\s*=\s*[\"']?([^\s;\"'/>]+)", content[:1024].decode("latin-1"), re.IGNORECASE
    )
    charset = named.group(1).lower() if named else "utf-8"
    if charset in ("iso-8859-1", "latin1", "us-ascii", "ascii"):
        charset = "windows-1252"  # what browsers read under these names
    try:
        return content.decode(charset, errors="replace")
    except LookupError:
        return content.decode("utf-8", errors="replace")


def show_gone(message, headers):
    """Of a page that is gone there is no value, or a change event: the key and the headers say it all."""
    gone = {"event_id": headers["event_id"], "url": unquote_plus(message.key().decode()), "gone": headers["reason"]}
    print(json.dumps(gone, ensure_ascii=False), flush=True)


def show(message, headers):
    url, content_type, content, text = page_of(headers["schema"], message.value())
    title = re.search(r"<title[^>]*>(.*?)</title>", text or "", re.IGNORECASE | re.DOTALL)
    page = {
        "event_id": headers["event_id"],
        "url": url,
        "status": int(headers["status"]),
        "content_type": content_type,
        "bytes": None if content is None else len(content),
        "characters": None if text is None else len(text),
        "title": title and title.group(1).strip(),
    }
    print(json.dumps(page, ensure_ascii=False), flush=True)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("servers")
    arguments.add_argument("topic")
    arguments.add_argument("group")
    arguments.add_argument("--until-end", action="store_true")
    asked = arguments.parse_args()
    sys.stdout.reconfigure(encoding="utf-8")

    consumer = Consumer({
        "bootstrap.servers": asked.servers,
        "group.id": asked.group,
        "auto.offset.reset": "earliest",
        # An offset is committed only once its page is dealt with: see store_offsets.
        "enable.auto.offset.store": False,
        "enable.partition.eof": asked.until_end,
    })
    # Partitions not read to their end; not known yet.
    unfinished = {None}

    def assigned(_, partitions):
        unfinished.clear()
        unfinished.update(partition.partition for partition in partitions)

    consumer.subscribe([asked.topic], on_assign=assigned)
    seen = Seen()
    try:
        while unfinished or not asked.until_end:
            message = consumer.poll(1.0)
            if message is None:
                continue
            if message.error():
                if message.error().code() != KafkaError._PARTITION_EOF:
                    raise KafkaException(message.error())
                unfinished.discard(message.partition())
                continue
            headers = {name: value.decode() for name, value in message.headers()}
            # A page that is in another partition now is not gone: its message there says what it is.
            if headers.get("change") != "moved" and seen.is_new(headers["event_id"]):
                (show_gone if headers.get("change") == "gone" else show)(message, headers)
            consumer.store_offsets(message)
    except KeyboardInterrupt:
        pass
    finally:
        consumer.close()


if __name__ == "__main__":
    main()
