//! Keeps all segments for some time.

use super::log::Inner;

/// While this exists, no segment is removed.
pub(super) struct Hold<'a>(&'a Inner);

impl Hold<'_> {
    pub(super) fn on(inner: &Inner) -> Hold<'_> {
        inner.state.lock().holds += 1;
        Hold(inner)
    }
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.holds -= 1;
        self.0.free(state);
    }
}
