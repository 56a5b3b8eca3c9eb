//! Which parameters are taken out of links: those that are set, or else those that the data folder has gone by so far. Another list
//! gives known pages other URLs, and they would be fetched again under these: so a new default is for new folders alone.

use crate::config::Loaded;
use crate::frontier::{Frontier, FrontierError};

/// The list that the folder's last run went by. Folders of before have none.
const NOTE: &str = "drop_parameters";

/// To be asked before seeds are proposed. The list is noted.
pub(super) fn in_force(frontier: &dyn Frontier, loaded: &Loaded) -> Result<Vec<String>, FrontierError> {
    let note = frontier.note(NOTE)?;
    // What cannot be read is as if it were not there.
    let noted = note.as_deref().and_then(|note| serde_json::from_str::<Vec<String>>(note).ok());
    let default = || {
        let counts = frontier.counts();
        let is_new = counts.page == 0 && counts.work_proposed == 0;
        if !is_new {
            tracing::info!(
                "links keep parameters such as utm_source: this data folder knows URLs that have them; a new one has them dropped, \
                 and this one if link_storage.link_strategy.drop_parameters is set"
            );
        }
        if is_new { loaded.config.scope.drop_parameters.clone() } else { Vec::new() }
    };
    let list = loaded.drop_parameters().map(<[String]>::to_vec).or(noted).unwrap_or_else(default);
    let now = serde_json::to_string(&list).unwrap_or_default();
    if note.as_ref() != Some(&now) {
        frontier.set_note(NOTE, &now)?;
    }
    Ok(list)
}
