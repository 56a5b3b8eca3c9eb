//! The right result of a crawl, from the world's own knowledge and not from the program's.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::answer::digest;
use super::settings::{Canonical, Redirects, Scope, Settings};
use super::web::{Host, Trap};
use super::{World, split};

/// The answer for a URL without mishaps.
#[derive(Debug, Clone, PartialEq)]
pub enum Look {
    Page(Seen),
    Sitemap,
    /// The target, an absolute URL; none: the target cannot be fetched.
    Redirect(Option<String>),
    Missing,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    pub version: u32,
    /// SHA-256 of the body, in hexadecimal digits.
    pub digest: String,
    pub noindex: bool,
    pub canonical: Option<String>,
    pub links: Vec<String>,
    /// Whether it belongs to an endless trap.
    pub is_trap: bool,
}

/// The right state of a URL at some time.
#[derive(Debug, Clone, PartialEq)]
pub struct Truth {
    /// Whether it must be delivered: after redirects, the answer is a page that may be fetched and indexed.
    pub is_page: bool,
    /// The reason if it must not be delivered.
    pub why: &'static str,
    pub version: u32,
    pub body_digest: String,
    /// The URL of its page after redirects.
    pub found_at: String,
    /// The URL that identifies its page. Of all URLs with the same place, one is delivered.
    pub place: String,
    pub is_trap: bool,
}

/// URLs with the same page. A destination must have it under one of them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Place {
    /// The destination must have exactly one of these, if there are any.
    pub one_of: BTreeSet<String>,
    /// The destination must have none of these, because their page is that of `one_of`.
    pub none_of: BTreeSet<String>,
    /// Digests of the right bodies.
    pub digests: BTreeSet<String>,
}

/// A cache of answers by URL, so that each body is generated once.
#[derive(Default)]
pub struct Looks(HashMap<String, Look>);

const MAX_HOPS: usize = 10;

impl World {
    /// The right state of all URLs that can be reached from the seeds at a time, without mishaps and with the settings
    /// of that time.
    pub fn truth(&self, at: u64) -> BTreeMap<String, Truth> {
        self.truth_of(self.reachable(&self.settings_at(at), at), &self.settings_at(at), at)
    }

    pub fn truth_of(&self, urls: BTreeSet<String>, settings: &Settings, at: u64) -> BTreeMap<String, Truth> {
        let mut looks = Looks::default();
        urls.into_iter().map(|url| (url.clone(), self.judge(&url, settings, at, &mut looks))).collect()
    }

    /// URLs that can be reached by links from the seeds. Targets of redirects that nothing links to are not included.
    pub fn reachable(&self, settings: &Settings, at: u64) -> BTreeSet<String> {
        let mut looks = Looks::default();
        let mut reached: BTreeSet<String> = self.seeds.iter().cloned().collect();
        let mut waiting: Vec<String> = self.seeds.clone();
        let mut mapped: BTreeSet<String> = BTreeSet::new();
        while let Some(url) = waiting.pop() {
            let mut found: Vec<String> = Vec::new();
            if let Some(host) = self.host_of(&url).filter(|_| self.is_asked_for(&url, settings, at)) {
                found.extend(self.links(&url, settings, at, &mut looks));
                if mapped.insert(host.origin()) && self.reads_sitemap(host, settings, at) {
                    let there = host.pages.iter().filter(|page| page.is_there(at) && page.moved_at(at).is_none());
                    found.extend(there.map(|page| format!("{}{}", host.origin(), page.path)));
                }
            }
            for url in found {
                if self.is_in_scope(&url, settings) && !reached.contains(&url) {
                    reached.insert(url.clone());
                    waiting.push(url);
                }
            }
        }
        reached
    }

    /// The links of the page at a URL, after redirects. Pages of a trap have none here.
    fn links(&self, url: &str, settings: &Settings, at: u64, looks: &mut Looks) -> Vec<String> {
        let mut url = url.to_owned();
        for _ in 0..=MAX_HOPS {
            match self.look(&url, at, looks) {
                Look::Page(seen) => return seen.links.iter().filter(|_| !seen.is_trap).cloned().collect(),
                Look::Redirect(Some(to)) if self.is_asked_for(to, settings, at) => url = to.clone(),
                Look::Redirect(_) | Look::Sitemap | Look::Missing => return Vec::new(),
            }
        }
        Vec::new()
    }

    /// Whether its sitemap is read. robots.txt names it, or it has the usual path.
    fn reads_sitemap(&self, host: &Host, settings: &Settings, at: u64) -> bool {
        settings.sitemaps && host.has_sitemap && host.forwards.is_none() && host.robots_at(at).allow("/sitemap.xml")
    }

    /// Whether the URL is in scope, and allowed by its host's robots.txt.
    pub fn is_asked_for(&self, url: &str, settings: &Settings, at: u64) -> bool {
        let (_, path) = split(url);
        let allows = |host: &Host| self.robots_of(host).robots_at(at).allow(path);
        self.is_in_scope(url, settings) && self.host_of(url).is_some_and(allows)
    }

    /// The host whose robots.txt counts for this host. It is another one if all URLs redirect there (RFC 9309
    /// §2.3.1.2).
    fn robots_of<'w>(&'w self, host: &'w Host) -> &'w Host {
        host.forwards.and_then(|id| self.host(id)).unwrap_or(host)
    }

    pub fn is_in_scope(&self, url: &str, settings: &Settings) -> bool {
        let name = |url: &str| split(url).0.rsplit('/').next().unwrap_or_default().to_owned();
        if !url.starts_with("http://") && !url.starts_with("https://") {
            return false;
        }
        let is_seed = self.seeds.iter().any(|seed| seed == url);
        is_seed
            || match settings.scope {
                Scope::Any => true,
                Scope::Host => self.seeds.iter().any(|seed| name(seed) == name(url)),
                Scope::Domain => {
                    let domain = |url: &str| self.host_of(url).map(|host| host.domain.clone());
                    domain(url).is_some_and(|of| self.seeds.iter().any(|seed| domain(seed).as_ref() == Some(&of)))
                }
            }
    }

    /// The answer of the URL itself.
    pub fn look<'l>(&self, url: &str, at: u64, looks: &'l mut Looks) -> &'l Look {
        if !looks.0.contains_key(url) {
            let look = self.look_anew(url, at);
            looks.0.insert(url.to_owned(), look);
        }
        &looks.0[url]
    }

    fn look_anew(&self, url: &str, at: u64) -> Look {
        let Some(host) = self.host_of(url) else { return Look::Missing };
        let (origin, path) = split(url);
        if let Some(other) = host.forwards.and_then(|id| self.host(id)) {
            return Look::Redirect(Some(format!("{}{path}", other.origin())));
        }
        if path == "/sitemap.xml" && host.has_sitemap {
            return Look::Sitemap;
        }
        if let Some(number) = self.trap_number(host, path) {
            let digest = digest(&self.trap_body(host, number));
            let trap = host.trap.as_ref().filter(|trap| trap.ends.is_some());
            let next = |trap: &Trap| {
                let numbers = [number + 1, number + 2].into_iter().filter(|next| trap.has(*next));
                numbers.map(|next| format!("{origin}{}{next}", trap.prefix)).collect()
            };
            let (noindex, canonical, links) = (false, None, trap.map(next).unwrap_or_default());
            return Look::Page(Seen { version: 0, digest, noindex, canonical, links, is_trap: trap.is_none() });
        }
        let Some((_, page)) = self.page_at(url).filter(|(_, page)| page.is_there(at)) else { return Look::Missing };
        if let Some(moved) = page.moved_at(at) {
            let Some(to) = self.url_of_link(&moved.to) else { return Look::Missing };
            let to = if to.starts_with('/') { format!("{origin}{to}") } else { to };
            return Look::Redirect(Some(to).filter(|to| to.starts_with("http")));
        }
        let (owner, page) = self.content(host, page);
        let version = page.version_at(at);
        let links = page.links_of(version).filter_map(|link| self.url_of_link(&link.to));
        let trap =
            owner.trap.as_ref().filter(|_| page.path == "/").map(|trap| format!("{}{}0", owner.origin(), trap.prefix));
        Look::Page(Seen {
            version,
            digest: digest(&self.body(owner, page, version)),
            noindex: page.is_noindex(page.begins(version)),
            canonical: page.canonical.and_then(|id| self.url_of(id)),
            links: links.chain(trap).collect(),
            is_trap: false,
        })
    }

    /// The right state of a URL, after redirects.
    pub fn judge(&self, url: &str, settings: &Settings, at: u64, looks: &mut Looks) -> Truth {
        let mut truth = Truth {
            is_page: false,
            why: "it is out of scope or robots.txt forbids it",
            version: 0,
            body_digest: String::new(),
            found_at: url.to_owned(),
            place: url.to_owned(),
            is_trap: false,
        };
        let mut been = BTreeSet::new();
        loop {
            let found_at = truth.found_at.clone();
            if !self.is_asked_for(&found_at, settings, at) {
                return truth;
            }
            if !been.insert(found_at.clone()) || been.len() > MAX_HOPS + 1 {
                return Truth { why: "it redirects without end", ..truth };
            }
            match self.look(&found_at, at, looks) {
                Look::Redirect(Some(to)) => truth.found_at = to.clone(),
                Look::Redirect(None) => {
                    return Truth { why: "it redirects to what is no page", ..truth };
                }
                Look::Missing => return Truth { why: "it is not there", ..truth },
                Look::Sitemap => return Truth { why: "it is a sitemap", ..truth },
                Look::Page(seen) => {
                    let place = match &seen.canonical {
                        Some(named) if self.counts(named, url, &found_at, settings) => named.clone(),
                        _ if settings.redirects == Redirects::Follow => url.to_owned(),
                        _ => found_at,
                    };
                    return Truth {
                        is_page: !seen.noindex,
                        why: if seen.noindex { "it asks not to be indexed" } else { "it is a page" },
                        version: seen.version,
                        body_digest: seen.digest.clone(),
                        is_trap: seen.is_trap,
                        place,
                        ..truth
                    };
                }
            }
        }
    }

    /// Whether a page of `url`, found at another, may name this one as canonical.
    fn counts(&self, named: &str, url: &str, found_at: &str, settings: &Settings) -> bool {
        let domain = |url: &str| self.host_of(url).map(|host| host.domain.clone());
        let is_other = named != url && named != found_at;
        settings.canonical == Canonical::Obey
            && is_other
            && domain(named) == domain(found_at)
            && self.is_in_scope(named, settings)
    }

    /// The documents of these URLs that a destination must have, by place.
    pub fn places(&self, truths: &BTreeMap<String, Truth>) -> BTreeMap<String, Place> {
        let mut places: BTreeMap<String, Place> = BTreeMap::new();
        for (url, truth) in truths.iter().filter(|(_, truth)| truth.is_page) {
            // The canonical page itself has precedence over pages that name it.
            let own = truths.get(&truth.place).filter(|own| own.is_page && own.place == truth.place);
            let is_its_own = truth.found_at == truth.place || *url == truth.place;
            let place = places.entry(truth.place.clone()).or_default();
            match own {
                Some(_) if !is_its_own => _ = place.none_of.insert(url.clone()),
                _ => {
                    place.one_of.insert(url.clone());
                    place.digests.insert(truth.body_digest.clone());
                }
            }
        }
        places
    }
}
