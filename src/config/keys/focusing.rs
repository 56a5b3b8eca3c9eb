//! Keys of focused crawls: which links come first, and which are followed at all.

use super::Kind::{Bool, Number, OneOf};
use super::{Key, ache};
use crate::config::focus;

pub(super) const KEYS: &[Key] = &[
    ache(
        "target_storage.hard_focus",
        "false",
        "true",
        Bool(|d, v| d.config.frontier.focus.hard = v),
        "Follow the links of relevant pages alone. false: of all pages, what is on relevant ones before. Which pages are relevant \
         a page classifier says; without one, all are.",
    ),
    ache(
        "target_storage.store_negative_pages",
        "true",
        "true",
        Bool(|d, v| d.config.frontier.focus.relevant_only = !v),
        "false: pages that the page classifier holds not relevant are read for their links and go to no destination; one that was there \
         leaves as if it were gone. Pages that no classifier is asked about (images, feeds) are delivered all the same.",
    ),
    ache(
        "link_storage.link_classifier.type",
        "LinkClassifierBreadthSearch",
        "LinkClassifierBreadthSearch",
        OneOf(focus::LINK_CLASSIFIERS, focus::set_link_classifier),
        "LinkClassifierBreadthSearch and MaxDepthLinkClassifier: links are not ranked. The first has no limit of depth of its own \
         (ACHE's stops at 2); the second makes max_depth 0 where it is not set, as in ACHE. LinkClassifierBaseline: links are \
         ranked by the relevance of their pages and of what their hosts have brought. LinkClassifierImpl: and by their words and \
         URLs, as learned while crawling.",
    ),
    ache(
        "link_storage.online_learning.enabled",
        "false",
        "false",
        Bool(|d, v| d.online_learning = v),
        "Rank links, and learn from each page that comes which links lead to relevant ones, whatever the link classifier. The best \
         come first, of one host and across hosts.",
    ),
    ache(
        "link_storage.online_learning.type",
        "FORWARD_CLASSIFIER_BINARY",
        "FORWARD_CLASSIFIER_BINARY",
        OneOf(focus::LEARNING, focus::set_learning),
        "FORWARD_CLASSIFIER_BINARY: whether a link leads to a relevant page is learned.",
    ),
    ache(
        "link_storage.link_selector",
        "TopkLinkSelector",
        "TopkLinkSelector",
        OneOf(focus::SELECTORS, focus::set_selector),
        "TopkLinkSelector: the best links are taken first, where links are ranked.",
    ),
    ache(
        "link_storage.link_selector.min_relevance",
        "0",
        "0",
        Number(focus::set_min_relevance),
        "Links with a lower rank are not followed, where links are ranked: 0 to 1, the probability that the page is relevant. More \
         than 1 is ACHE's scale: 250 is 0.5.",
    ),
];
