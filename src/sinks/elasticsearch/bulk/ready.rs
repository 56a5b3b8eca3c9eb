//! Whether the index takes documents: before the first document is built, and before each request.

use std::sync::Arc;

use tokio::task::JoinHandle;

use super::super::identity::{self, Found};
use super::super::index;
use super::super::queue::Backoff;
use super::{BulkFailure, BulkSender, NotReady};
use crate::sinks::sink::SinkError;

impl BulkSender {
    /// Waits until the index takes documents. `check`: the first check, if it is not known to have ended.
    pub(crate) async fn await_index(
        self: Arc<Self>,
        check: Option<JoinHandle<Result<(), SinkError>>>,
    ) -> Result<(), BulkFailure> {
        let waiting = async {
            if let Some(checked) = check {
                checked.await.unwrap_or(Ok(())).map_err(BulkFailure::Failed)?;
            }
            let mut patience = Backoff::new();
            while !*self.is_ready.lock().await {
                match self.prepare().await {
                    Ok(()) => {}
                    Err(NotReady::Temporary(reason)) => self.wait(&mut patience, reason).await?,
                    Err(NotReady::Permanent(error)) => return Err(BulkFailure::Failed(error)),
                }
            }
            Ok(())
        };
        tokio::select! {
            biased;
            ready = waiting => ready,
            () = self.out_of_time() => Err(BulkFailure::ShuttingDown),
        }
    }

    /// Runs before each request that may write. Also fails if the index was replaced.
    pub(super) async fn prepare(&self) -> Result<(), NotReady> {
        let mut is_ready = self.is_ready.lock().await;
        let mut found = identity::find(&self.client, &self.config.index).await?;
        if let Some(known) = self.known.lock().as_ref() {
            known.check(&found, &self.config.index).map_err(NotReady::Permanent)?;
        }
        if !*is_ready || matches!(found, Found::Nothing) {
            index::prepare(&self.client, &self.config, self.with_deletes).await?;
            found = identity::find(&self.client, &self.config.index).await?;
            *is_ready = true;
        }
        if let Found::Index(found) = found {
            if self.checks_alias(&found).await? {
                // The alias has a new write index, which may have another mapping.
                index::prepare(&self.client, &self.config, self.with_deletes).await?;
            }
            *self.known.lock() = Some(found);
        }
        Ok(())
    }
}
