//! The demo's web server, its site, and the websites made for other tests and for the benches.

#[path = "../../benches/support/site.rs"]
mod bench_site;
mod catalogue;
mod generated;
mod server;
#[path = "../support/mod.rs"]
mod support;
mod town;
mod walk;

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use reqwest::Client;

/// A client that follows no redirects, decodes nothing and resolves these names.
fn client(hosts: &BTreeMap<String, Vec<IpAddr>>) -> Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none());
    for (host, ips) in hosts {
        let addresses: Vec<SocketAddr> = ips.iter().map(|ip| SocketAddr::new(*ip, 0)).collect();
        builder = builder.resolve_to_addrs(host, &addresses);
    }
    builder.build().unwrap()
}

fn plain_client() -> Client {
    client(&BTreeMap::new())
}
