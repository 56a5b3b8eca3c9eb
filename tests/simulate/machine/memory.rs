//! Counts allocated bytes. What a process held at its peak and gave back with its death was its own. The rest is of the world and of the
//! destinations, which outlive it.

use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicU64, Ordering};

use mimalloc::MiMalloc;

static NOW: AtomicU64 = AtomicU64::new(0);
/// The maximum since the process began.
static PEAK: AtomicU64 = AtomicU64::new(0);

pub struct Counting(pub MiMalloc);

/// A process begins.
pub fn process_begins() {
    PEAK.store(NOW.load(Ordering::Relaxed), Ordering::Relaxed);
}

/// The process has died. Returns the bytes that it held at its peak. What the world got meanwhile is subtracted, so this is at most too little.
pub fn process_died() -> u64 {
    PEAK.load(Ordering::Relaxed).saturating_sub(NOW.load(Ordering::Relaxed))
}

fn more(bytes: usize) {
    let now = NOW.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64;
    if now > PEAK.load(Ordering::Relaxed) {
        PEAK.store(now, Ordering::Relaxed);
    }
}

fn fewer(bytes: usize) {
    NOW.fetch_sub(bytes as u64, Ordering::Relaxed);
}

// SAFETY: each call is mimalloc's.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        more(layout.size());
        // SAFETY: the caller's promise.
        unsafe { self.0.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        more(layout.size());
        // SAFETY: the caller's promise.
        unsafe { self.0.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        fewer(layout.size());
        // SAFETY: the caller's promise.
        unsafe { self.0.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        fewer(layout.size());
        more(size);
        // SAFETY: the caller's promise.
        unsafe { self.0.realloc(place, layout, size) }
    }
}
