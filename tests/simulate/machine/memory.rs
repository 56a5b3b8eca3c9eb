//! Counts allocated bytes, and their maximum since a world began.

use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicU64, Ordering};

use mimalloc::MiMalloc;

static NOW: AtomicU64 = AtomicU64::new(0);
static PEAK: AtomicU64 = AtomicU64::new(0);
static BEGAN: AtomicU64 = AtomicU64::new(0);

pub struct Counting(pub MiMalloc);

/// A world begins.
pub fn begin() {
    let now = NOW.load(Ordering::Relaxed);
    BEGAN.store(now, Ordering::Relaxed);
    PEAK.store(now, Ordering::Relaxed);
}

/// Bytes of this world.
pub fn peak() -> u64 {
    PEAK.load(Ordering::Relaxed).saturating_sub(BEGAN.load(Ordering::Relaxed))
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
