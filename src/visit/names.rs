//! DNS lookups of a host's name, and hosts whose name does not exist.

use std::net::IpAddr;
use std::sync::Arc;

use seine_system::clock::now_ms;
use url::Url;

use super::host::LeasedHost;
use super::visitor::{Interrupted, Visitor};
use crate::fetch::DnsError;

impl Visitor {
    /// The addresses for `url`. The host counts as unknown if DNS answers for the second time that its name has no
    /// address, the host was never reached, and the DNS servers know other names.
    pub(super) async fn look_up(
        &self,
        host: &mut LeasedHost,
        url: &Url,
    ) -> Result<Result<Arc<[IpAddr]>, DnsError>, Interrupted> {
        let (name, dns) = (url.host_str().unwrap_or_default(), self.client.dns());
        let was_unknown = host.was_unknown() && url.origin().ascii_serialization() == host.origin();
        let found = match was_unknown {
            true => self.before_the_end(dns.resolve_again(name)).await?,
            false => self.before_the_end(dns.resolve(name)).await?,
        };
        self.outage.resolved(dns.answered_ms(), now_ms());
        if let Err(error @ DnsError::NoAddress { .. }) = &found
            && was_unknown
            && !host.was_reached()
            && self.before_the_end(dns.knows_others_than(name)).await?
        {
            host.unknown_name = Some(format!("{error} (asked twice)"));
        }
        Ok(found)
    }

    /// An answer of DNS servers. If they are silent, the end of the crawl does not wait for them.
    pub(super) async fn before_the_end<T>(&self, answer: impl Future<Output = T>) -> Result<T, Interrupted> {
        tokio::select! {
            biased;
            said = answer => Ok(said),
            () = self.shutdown.finishing() => Err(Interrupted::Stopping),
        }
    }
}
