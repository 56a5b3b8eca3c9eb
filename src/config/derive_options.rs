//! The settings of the configuration for what is derived from a page.

use seine_parse::DeriveOptions;

use super::Config;

impl From<&Config> for DeriveOptions {
    fn from(config: &Config) -> DeriveOptions {
        DeriveOptions {
            max_decoded_bytes: config.fetch.max_decoded_bytes,
            obey_nofollow: config.scope.obey_nofollow,
            agent: config.fetch.user_agent.name.clone(),
            requisites: config.scope.requisites,
            forms: config.scope.forms,
            drop_parameters: config.scope.drop_parameters.as_slice().into(),
            text: config.text,
        }
    }
}
