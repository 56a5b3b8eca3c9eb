"""Fetches for a crawl that runs elsewhere: SEINE_WORK_TOKEN=... python3 client.py http://crawl.example:8080"""
import base64, json, os, sys, time
from http.client import HTTPConnection, HTTPSConnection
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

def ask(path, said):
    head = {"Authorization": "Bearer " + os.environ["SEINE_WORK_TOKEN"], "Content-Type": "application/json"}
    return json.load(urlopen(Request(sys.argv[1] + "/api/v1/work" + path, json.dumps(said).encode(), head)))
while work := ask("/leases", {"hosts": 1, "wait_ms": 10000}):
    for lease, url in [(lease, one["url"]) for lease in work["leases"] for one in lease["urls"]]:
        web = (HTTPSConnection if url.startswith("https:") else HTTPConnection)(urlsplit(url).netloc, timeout=30)
        web.request("GET", urlsplit(url)._replace(scheme="", netloc="").geturl(), headers={"User-Agent": work["user_agent"]})
        page = {"lease": lease["lease"], "url": url, "status": (answer := web.getresponse()).status, "headers": answer.getheaders()}
        print(url, ask("/pages", page | {"body": base64.b64encode(answer.read()).decode()}), flush=True)
        time.sleep(lease["delay_ms"] / 1000)
