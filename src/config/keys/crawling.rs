//! Keys of what is fetched, when and how.

use std::time::Duration;

use super::Kind::{
    Bool, Budgets, Cookies, Count, Hosts, List, MaybeCount, MaybeDuration, MaybeText, OneOf, Overrides, Size, Text,
};
use super::{Key, Kind, ache, ours};
use crate::config::draft::{self, Draft};
use crate::config::page_classifier;
use crate::config::values::Unit::Millis;

const NONE: Duration = Duration::ZERO;
const SOME: Duration = Duration::from_millis(1);

/// In milliseconds, at least `least`.
const fn millis(least: Duration, set: fn(&mut Draft, Duration)) -> Kind {
    Kind::Duration(Millis, least, set)
}

pub(super) const CRAWL: &[Key] = &[
    ours(
        "crawler_id",
        "default",
        Text(draft::set_crawler_id),
        "Names this crawl in its records. Letters, digits, - and _.",
    ),
    ache(
        "target_storage.visited_page_limit",
        "null",
        "null",
        MaybeCount(1, u64::MAX, |d, v| d.config.frontier.max_pages = v),
        "The crawl ends once it has brought this many pages, all of its runs in one data folder together; pages that are looked \
         at again count again. null: never.",
    ),
    ours(
        "target_storage.model",
        "null",
        MaybeText(page_classifier::set),
        "The folder of a page classifier, ACHE's (pageclassifier.yml: url_regex, title_regex, body_regex, regex, \
         keep_link_relevance) or one that seine build-model has made: it says whether a page is relevant, and how much. null: \
         HTML is, and nothing else.",
    ),
    ache(
        "link_storage.max_pages_per_domain",
        "null",
        "null",
        MaybeCount(1, u64::MAX, |d, v| d.config.frontier.max_pages_per_host = v),
        "Pages of one host; a host such as www.example.com, where ACHE counts all of example.com. null: all.",
    ),
    ours(
        "budget.rules",
        "[]",
        Budgets(|d, v| d.config.frontier.budgets = v),
        "At most so much may be brought: [{of: crawl, per: day, pages: 100000}, {of: host, bytes_received: 1GiB}]. of: crawl, \
         host (its name, whatever the port) or domain (the registrable one). per: day (UTC), run (since the start), or life \
         (all runs in the data folder), which is the default. Amounts: pages (2xx, looks again included), bytes_received (as \
         they came, heads and robots.txt included), bytes_decoded. What is spent is not asked for; the rest stays queued.",
    ),
];

pub(super) const FRONTIER: &[Key] = &[
    ache(
        "link_storage.scheduler.host_min_access_interval",
        "1s",
        "5s",
        millis(NONE, |d, v| d.config.frontier.host_delay = v),
        "Rest between the end of one visit of a host and the start of the next. robots.txt can ask for more.",
    ),
    ours(
        "link_storage.scheduler.ip_min_access_interval",
        "null",
        MaybeDuration(Millis, NONE, |d, v| d.config.frontier.ip_delay = v),
        "The same for visits of one address, whatever the host. null: as for a host.",
    ),
    ours(
        "link_storage.scheduler.max_crawl_delay",
        "1m",
        millis(NONE, |d, v| d.config.frontier.max_crawl_delay = v),
        "A longer crawl-delay in a robots.txt counts as this.",
    ),
    ache(
        "crawler_manager.downloader.max_retry_count",
        "3",
        "2",
        Count(0, 1000, |d, v| d.config.frontier.max_retries = draft::to_u16(v)),
        "Further tries of a URL that failed for a passing reason.",
    ),
    ours(
        "link_storage.scheduler.backoff_base",
        "5s",
        millis(SOME, |d, v| d.config.frontier.backoff_base = v),
        "Rest of a host after a failure; doubled by each further one …",
    ),
    ours(
        "link_storage.scheduler.backoff_max",
        "1d",
        millis(SOME, |d, v| d.config.frontier.backoff_max = v),
        "… up to this.",
    ),
    ours(
        "link_storage.scheduler.retry_after_max",
        "1h",
        millis(NONE, |d, v| d.config.frontier.retry_after_max = v),
        "A longer Retry-After counts as this; an absurd one, of more than a year, counts as none.",
    ),
    ours(
        "link_storage.scheduler.give_up_after",
        "7d",
        millis(SOME, |d, v| d.config.frontier.give_up_after = v),
        "A host in trouble for so long is given up: its URLs fail, until a link or a seed leads to it again.",
    ),
    ours(
        "link_storage.recrawl.interval",
        "null",
        MaybeDuration(Millis, SOME, |d, v| d.config.frontier.revisit.interval = v),
        "From one look at a page to the next, on average over all pages: those that change are looked at oftener, those that \
         do not more seldom. null: pages are not looked at again.",
    ),
    ours(
        "link_storage.recrawl.min_interval",
        "1h",
        millis(SOME, |d, v| d.config.frontier.revisit.min_interval = v),
        "No page is looked at oftener; a smaller interval comes before it …",
    ),
    ours(
        "link_storage.recrawl.max_interval",
        "180d",
        millis(SOME, |d, v| d.config.frontier.revisit.max_interval = v),
        "… and none more seldom, nor than eight times the interval; a larger interval comes before it.",
    ),
    ours(
        "link_storage.recrawl.overrides",
        "[]",
        Overrides(|d, v| d.config.frontier.revisit.overrides = v),
        "Intervals for some pages; the first entry that is theirs counts: [{host: example.com, interval: 1h}, {pattern: \
         \"/archive/\", interval: null}]. A pattern is as for links; interval: null is never. An interval is kept exactly, but \
         where the entry has a min_interval or max_interval, too. Their looks count with those of all pages.",
    ),
    ours(
        "link_storage.recrawl.share",
        "50",
        Count(0, 100, |d, v| d.config.frontier.revisit_share = v as f64 / 100.0),
        "Percent of the requests to a host that go to pages looked at again, while new ones wait too.",
    ),
    ours(
        "link_storage.recrawl.confirm_gone",
        "1d",
        millis(NONE, |d, v| d.config.frontier.revisit.confirm_gone = v),
        "A page that answers 404 or 410 is gone once a second look, so long after the first, agrees; gone pages are looked at \
         again at growing intervals. 0: gone at once.",
    ),
    ours(
        "link_storage.cache_size",
        "32MiB",
        Size(1 << 20, |d, v| d.config.frontier.cache_bytes = v),
        "Memory for the block cache of the store of URLs.",
    ),
];

pub(super) const FETCH: &[Key] = &[
    ache(
        "crawler_manager.downloader.download_thread_pool_size",
        "100",
        "100",
        Count(1, 100_000, |d, v| d.config.fetch.concurrency = draft::to_usize(v)),
        "Hosts fetched from at the same time.",
    ),
    ours(
        "crawler_manager.downloader.connections_per_host",
        "1",
        Count(1, 256, |d, v| d.config.fetch.connections_per_host = draft::to_usize(v)),
        "Requests to one host at the same time, each begun a delay after the one before. More than 1 is for who may: a \
         site of one's own.",
    ),
    ache(
        "crawler_manager.downloader.httpclient.connection_timeout",
        "10s",
        "30s",
        millis(SOME, |d, v| d.config.fetch.connect_timeout = v),
        "For opening a connection.",
    ),
    ours(
        "crawler_manager.downloader.header_timeout",
        "20s",
        millis(SOME, |d, v| d.config.fetch.header_timeout = v),
        "From asking to the end of the answer's headers, connecting included.",
    ),
    ache(
        "crawler_manager.downloader.httpclient.socket_timeout",
        "30s",
        "30s",
        millis(SOME, |d, v| d.config.fetch.read_timeout = v),
        "Without a byte of a body for so long, it is given up; what came is kept and the page marked.",
    ),
    ours(
        "crawler_manager.downloader.min_rate",
        "1KiB",
        Size(0, |d, v| d.config.fetch.min_rate = v),
        "A body that brings less a second is given up in the same way. 0: however slow it is.",
    ),
    ours(
        "crawler_manager.downloader.min_rate_span",
        "20s",
        millis(SOME, |d, v| d.config.fetch.min_rate_span = v),
        "The rate is that of each such span of time, so a body has so long to get going.",
    ),
    ours(
        "crawler_manager.downloader.total_timeout",
        "10m",
        millis(SOME, |d, v| d.config.fetch.total_timeout = v),
        "For a whole exchange, body included: the last bound, when none of the others holds.",
    ),
    ours(
        "crawler_manager.downloader.max_body_size",
        "10MiB",
        Size(1, |d, v| d.config.fetch.max_body_bytes = v),
        "Of a body as received; the rest is cut off and the page marked.",
    ),
    ours(
        "crawler_manager.downloader.max_decoded_size",
        "20MiB",
        Size(1, |d, v| d.config.fetch.max_decoded_bytes = v),
        "Of a body once decompressed; the rest is cut off and the page marked.",
    ),
    ours(
        "crawler_manager.downloader.max_redirects",
        "10",
        Count(0, 100, |d, v| d.config.fetch.max_redirects = draft::to_usize(v)),
        "Redirects followed from one URL.",
    ),
    ours(
        "crawler_manager.downloader.redirects",
        "first",
        OneOf(&["first", "follow"], draft::set_redirects),
        "A page that several URLs redirect to is delivered once, under the first that led to it; the others are its aliases, \
         and lead to no request for it. follow: fetched and delivered under each of them, as in ACHE.",
    ),
    ours(
        "crawler_manager.downloader.canonical",
        "ignore",
        OneOf(&["ignore", "obey"], draft::set_canonical),
        "obey: a page that names another URL of its site as its canonical one (rel=canonical, in the page or a Link header) is \
         that page's alias, and is delivered only as long as that one is not there.",
    ),
    ache(
        "crawler_manager.downloader.valid_mime_types",
        "[]",
        "[]",
        List(draft::set_mime_types),
        "Media types wanted, such as text/html or image/*. Empty: all.",
    ),
    ache(
        "link_storage.disallow_sites_in_robots_file",
        "true",
        "false",
        Bool(draft::set_obey_robots),
        "Obey robots.txt (RFC 9309).",
    ),
    ours(
        "crawler_manager.downloader.allow_private_addresses",
        "false",
        Bool(|d, v| d.config.fetch.allow_private = v),
        "Fetch from private, loopback and link-local addresses. For intranets: a link can point there on purpose.",
    ),
    ours(
        "crawler_manager.downloader.static_hosts",
        "{}",
        Hosts(|d, v| d.config.fetch.static_hosts = v),
        "Host names answered without DNS: {intranet.test: 10.0.0.7, other.test: [10.0.0.8, \"fd00::8\"]}.",
    ),
    ours(
        "crawler_manager.downloader.dns.servers",
        "[]",
        List(draft::set_dns_servers),
        "Name servers to ask, such as [192.0.2.53, \"192.0.2.54:5353\"]. Empty: those of the system (/etc/resolv.conf).",
    ),
    ours(
        "crawler_manager.downloader.dns.cache_entries",
        "100000",
        Count(1, 100_000_000, |d, v| d.config.fetch.dns_cache_entries = draft::to_usize(v)),
        "Host names whose addresses are remembered.",
    ),
    ours(
        "crawler_manager.downloader.dns.negative_ttl",
        "1m",
        millis(NONE, |d, v| d.config.fetch.dns_negative_ttl = v),
        "How long a name that does not exist is remembered.",
    ),
    ache(
        "crawler_manager.downloader.cookies",
        "[]",
        "[]",
        Cookies(|d, v| d.config.fetch.cookies = v),
        "Cookies to send: [{domain: example.com, path: /, cookie: \"session=1; lang=en\"}]. Never printed.",
    ),
];

pub(super) const IDENTITY: &[Key] = &[
    ache(
        "crawler_manager.downloader.user_agent.name",
        "Seine",
        "Seine",
        Text(draft::set_agent_name),
        "The product token: the name that a robots.txt can address.",
    ),
    ache(
        "crawler_manager.downloader.user_agent.url",
        "null",
        "null",
        MaybeText(|d, v| draft::set_agent_part(&mut d.config.fetch.user_agent.url, v)),
        "A page that tells webmasters about the crawl. Please set it, or the next one.",
    ),
    ache(
        "crawler_manager.downloader.user_agent.email",
        "null",
        "null",
        MaybeText(|d, v| draft::set_agent_part(&mut d.config.fetch.user_agent.email, v)),
        "Where webmasters can write to.",
    ),
    ache(
        "crawler_manager.downloader.user_agent.string",
        "null",
        "null",
        MaybeText(|d, v| draft::set_agent_part(&mut d.config.fetch.user_agent.string, v)),
        "The whole User-Agent header, instead of one made of name, url and email.",
    ),
];
