//! Keys of which links are followed.

use super::Kind::{Bool, List, MaybeCount, OneOf};
use super::{Key, ache, ours};
use crate::config::draft;
use crate::config::scope::ScopeRule;

pub(super) const SCOPE: &[Key] = &[
    ache(
        "link_storage.link_strategy.use_scope",
        "true",
        "false",
        Bool(|d, v| d.use_scope = v),
        "Stay on the websites of the seeds. false: follow links anywhere.",
    ),
    ours(
        "link_storage.link_strategy.scope",
        "host",
        OneOf(&["host", "domain"], |d, v| {
            d.config.scope.rule = if v == "domain" { ScopeRule::Domain } else { ScopeRule::Host };
        }),
        "What a seed's website is: its host, or its registrable domain with all hosts below it.",
    ),
    ours(
        "link_storage.link_strategy.scope_hosts",
        "[]",
        List(draft::set_scope_hosts),
        "Hosts in scope besides the seeds'.",
    ),
    ours(
        "link_storage.link_strategy.whitelist",
        "[]",
        List(|d, v| draft::set_patterns(&mut d.config.scope.allow, v)),
        "Regular expressions for whole URLs, without regard to case; a link must match one of them, if there are any. \
         Joined by link_whitelist.txt of the configuration folder.",
    ),
    ours(
        "link_storage.link_strategy.blacklist",
        "[]",
        List(|d, v| draft::set_patterns(&mut d.config.scope.deny, v)),
        "As above; a link must match none. Joined by link_blacklist.txt of the configuration folder.",
    ),
    ours(
        "link_storage.link_strategy.obey_nofollow",
        "true",
        Bool(|d, v| d.config.scope.obey_nofollow = v),
        "Leave links alone that are marked nofollow, by rel, robots meta or X-Robots-Tag.",
    ),
    ours(
        "link_storage.link_strategy.obey_noindex",
        "true",
        Bool(|d, v| d.config.scope.obey_noindex = v),
        "Pages marked noindex, by robots meta or X-Robots-Tag, are read for their links and not delivered; one that was \
         leaves as if it were gone. Archives hold what was answered.",
    ),
    ours(
        "link_storage.link_strategy.requisites",
        "[]",
        List(draft::set_requisites),
        "What pages need to be shown, for archives: images, styles (and what they name: fonts, images), scripts, media. It is asked \
         for wherever it is, if no list of patterns or link filter forbids it, and whatever its media type; robots.txt, delays \
         and budgets hold as for pages, and sinks get it as they get pages.",
    ),
    ours(
        "link_storage.link_strategy.forms",
        "false",
        Bool(|d, v| d.config.scope.forms = v),
        "Follow where forms lead that are sent by GET, without what would be filled in.",
    ),
    ours(
        crate::config::DROP_PARAMETERS,
        "[utm_*, gclid, gclsrc, dclid, gbraid, wbraid, gad_source, gad_campaignid, srsltid, _ga, _gl, fbclid, msclkid, yclid, \
         ysclid, twclid, ttclid, li_fat_id, igshid, epik, mc_cid, mc_eid, _hsenc, _hsmi, mkt_tok, vero_id, oly_anon_id, \
         oly_enc_id, pk_*, mtm_*, _openstat]",
        List(draft::set_drop_parameters),
        "Parameters taken out of the URLs that pages, feeds and sitemaps name, whatever their case; * ends a beginning. These say \
         where a visitor came from and never what is shown. null: none. Not set, a data folder keeps the list that it has, \
         which is none if it is of before there was one: what is known would be fetched again under another URL.",
    ),
    ours(
        "link_storage.link_strategy.traps",
        "true",
        Bool(|d, v| d.config.frontier.traps = v),
        "Let URLs wait whose pattern (/calendar/#-#, /list?sort=~) brings nothing new and leads to ever more of the same, and take \
         session ids out of links that are known by their effect. What waits is asked for when its host has nothing else: all of it, \
         unless it leads to as much again and again. false: nothing waits.",
    ),
    ache(
        "link_storage.link_strategy.outlinks",
        "true",
        "true",
        Bool(|d, v| d.outlinks = v),
        "Follow the links of pages. false: fetch the seeds alone, as max_depth: 0.",
    ),
    ache(
        "link_storage.link_classifier.max_depth",
        "null",
        "0",
        MaybeCount(0, u16::MAX as u64, |d, v| d.max_depth = v.map(draft::to_u16)),
        "Links followed away from a seed; 0: the seeds alone. null: any number.",
    ),
    ache(
        "link_storage.download_sitemap_xml",
        "true",
        "false",
        Bool(|d, v| d.config.frontier.sitemaps = v),
        "Read the sitemaps that robots.txt names, and /sitemap.xml.",
    ),
];
