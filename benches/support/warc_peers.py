"""What warcio and FastWARC take to read WARC files, and to write the same records again.

    warc_peers.py ROUNDS FILE...

Prints one JSON object a case: seconds of CPU and on the wall, the best of each, and what came out. Blocks are read to
their end, transfer codings undone. What is written has SHA-1 digests, by warcio of block and payload, by FastWARC of the
block; the records are in memory before, and nothing is synced."""

import io
import json
import sys
import tempfile
import time
import types
import zlib

from fastwarc.stream_io import GzipWriter
from fastwarc.warc import ArchiveIterator, WarcRecord, WarcRecordType
from warcio import warcwriter
from warcio.archiveiterator import ArchiveIterator as WarcioIterator
from warcio.statusandheaders import StatusAndHeadersParser
from warcio.warcwriter import WARCWriter

LEVEL = 6  # of zlib, as our sink has it


def measure(rounds, name, run):
    cpu = wall = float("inf")
    for _ in range(rounds):
        started, started_cpu = time.perf_counter(), time.process_time()
        out = run()
        cpu = min(cpu, time.process_time() - started_cpu)
        wall = min(wall, time.perf_counter() - started)
    print(json.dumps({"name": name, "cpu": cpu, "wall": wall, "out": out}), flush=True)


def read_by_warcio(path):
    with open(path, "rb") as file:
        responses = (it for it in WarcioIterator(file) if it.rec_type == "response")
        return sum(len(it.content_stream().read()) for it in responses)


def read_by_fastwarc(path, check=False):
    with open(path, "rb") as file:
        records = ArchiveIterator(file, verify_digests=check, auto_decode="transfer")
        return sum(len(it.reader.read()) for it in records if it.record_type == WarcRecordType.response)


def records_of(path):
    """Type, fields and block of each record."""
    with open(path, "rb") as file:
        records = ArchiveIterator(file, parse_http=False)
        return [(it.headers["WARC-Type"], it.headers.to_tuples(), it.reader.read()) for it in records]


def write_by_warcio(records, gzip):
    with tempfile.TemporaryFile() as file:
        writer = WARCWriter(file, gzip=gzip, warc_version="1.1")
        for kind, fields, block in records:
            payload, http_headers, fields = io.BytesIO(block), None, dict(fields)
            if kind in ("response", "request"):
                http_headers = StatusAndHeadersParser([], verify=False).parse(payload)
            kept = {name: value for name, value in fields.items() if "Digest" not in name}
            uri = fields.get("WARC-Target-URI")
            record = writer.create_warc_record(
                uri, kind, payload=payload, http_headers=http_headers, warc_headers_dict=kept
            )
            writer.write_record(record)
        file.flush()
        return file.tell()


def write_by_fastwarc(records, gzip):
    with tempfile.TemporaryFile() as file:
        writer = GzipWriter(file, compression_level=LEVEL) if gzip else file
        for kind, fields, block in records:
            record = WarcRecord()
            record.init_headers(getattr(WarcRecordType, kind))
            for name, value in fields:
                if "Digest" not in name:
                    record.headers[name] = value
            record.is_http = kind in ("response", "request")
            record.set_bytes_content(block)
            record.write(writer, checksum_data=True)
        writer.flush()
        return file.tell()


def set_warcio_level(level):
    """It has 9 and no setting for it."""
    compressor = lambda _level, *rest: zlib.compressobj(level, *rest)
    warcwriter.zlib = types.SimpleNamespace(
        compressobj=compressor, DEFLATED=zlib.DEFLATED, MAX_WBITS=zlib.MAX_WBITS
    )


def main():
    rounds, paths = int(sys.argv[1]), sys.argv[2:]
    for path in paths:
        kind = "gzip" if path.endswith(".gz") else "plain"
        measure(rounds, f"warcio reads, {kind}", lambda: read_by_warcio(path))
        measure(rounds, f"FastWARC reads, {kind}", lambda: read_by_fastwarc(path))
        measure(rounds, f"FastWARC reads and checks digests, {kind}", lambda: read_by_fastwarc(path, check=True))
    records = records_of(paths[0])
    for gzip in (True, False):
        kind = f"gzip, level {LEVEL}" if gzip else "plain"
        set_warcio_level(LEVEL)
        measure(rounds, f"warcio writes, {kind}", lambda: write_by_warcio(records, gzip))
        measure(rounds, f"FastWARC writes, {kind}", lambda: write_by_fastwarc(records, gzip))


main()
