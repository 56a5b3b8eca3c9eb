//! A page that tells whether its host is well: one that was there when it was last asked for.
//!
//! Pages that answer 500 for months are the web's everyday. Where they are all that is left to ask a host for, nothing but
//! another page tells them from a host that is down.

use url::Url;

use super::host::LeasedHost;
use super::retry;
use super::visitor::{Interrupted, Visitor};
use crate::fetch::client::Conditions;
use crate::frontier::Work;

impl Visitor {
    /// Whether the host answers for a page that it is known to have, other than that of `work`; none when there is no such
    /// page. The answer says nothing of the page itself: it is asked for under its conditions, and not kept.
    pub(super) async fn ask_witness(&self, host: &mut LeasedHost, work: &Work) -> Result<Option<bool>, Interrupted> {
        let Some(witness) = self.frontier.witness(host.origin(), &work.url)? else { return Ok(None) };
        let Ok(url) = Url::parse(&witness.url) else { return Ok(None) };
        if self.refusal(host, &url, witness.kind).is_some() {
            return Ok(None);
        }
        if self.wait_for_turn(host, &url).await?.is_err() {
            return Ok(Some(false));
        }
        // Those of a page behind a redirect are its target's.
        let (etag, last_modified) = match witness.final_url {
            None => (witness.etag, witness.last_modified),
            Some(_) => (None, None),
        };
        let conditions = Conditions { etag, last_modified, ..Conditions::default() };
        let exchange = self.exchange(host, &url, &conditions, self.client.limits()).await?;
        Ok(Some(retry::is_answer(&exchange.outcome)))
    }
}
