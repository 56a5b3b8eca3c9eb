//! Replaces the few calls of the C library whose results must not come from the real machine: time, random numbers, and writes to
//! the disk.
//!
//! The linker uses these functions of the test's binary instead of the library's. A thread outside a simulation still gets the real
//! results, by system call. So `Instant::now()`, `SystemTime::now()` and the order of hash maps are virtual
//! and repeatable, without any change in the program.

use std::cell::Cell;
use std::ffi::{c_char, c_int, c_long, c_uint, c_void};
use std::sync::atomic::{AtomicI64, AtomicU8, AtomicU64, Ordering};

#[repr(C)]
pub struct Timespec {
    seconds: i64,
    nanos: i64,
}

unsafe extern "C" {
    fn syscall(number: c_long, ...) -> c_long;
    fn sched_setaffinity(pid: c_int, size: usize, mask: *const u64) -> c_int;
}

const SYS_CLOCK_GETTIME: c_long = 228;
const SYS_GETRANDOM: c_long = 318;
const CLOCK_REALTIME: c_int = 0;
const CLOCK_REALTIME_COARSE: c_int = 5;
const CLOCK_PROCESS_CPUTIME_ID: c_int = 2;

thread_local! {
    /// Whether this thread lives in virtual time. If so, its random numbers come from here.
    static CHANCE: Cell<u64> = const { Cell::new(0) };
}

/// Nanoseconds since this machine began, virtually.
static NANOS: AtomicU64 = AtomicU64::new(BEGINNING);
/// Difference of the wall clock to that time, in milliseconds.
static WALL_MS: AtomicI64 = AtomicI64::new(0);

const BEGINNING: u64 = 1_000_000_000_000;

/// From now on this thread lives in virtual time, and its random numbers follow from `seed`.
pub fn enter(seed: u64) {
    swap_chance(Chance::of(seed));
}

/// The state of a simulated thread's random numbers: those of the system, and those of `fastrand`.
#[derive(Debug, Clone, Copy)]
pub struct Chance(u64, u64);

impl Chance {
    pub fn of(seed: u64) -> Chance {
        Chance(seed | 1, seed)
    }
}

/// Switches to this state and returns the old one.
pub fn swap_chance(chance: Chance) -> Chance {
    let before = Chance(CHANCE.replace(chance.0), fastrand::get_seed());
    fastrand::seed(chance.1);
    before
}

/// A new machine, whose clock says `wall_ms`.
pub fn begin(wall_ms: u64) {
    NANOS.store(BEGINNING, Ordering::Relaxed);
    set_wall(wall_ms);
}

pub fn nanos() -> u64 {
    NANOS.load(Ordering::Relaxed)
}

pub fn set_nanos(nanos: u64) {
    NANOS.store(nanos, Ordering::Relaxed);
}

/// The machine's wall clock, in milliseconds since 1970. Events of a world follow the true time: [`true_ms`].
pub fn wall_ms() -> u64 {
    (nanos() / 1_000_000).saturating_add_signed(WALL_MS.load(Ordering::Relaxed))
}

pub fn set_wall(ms: u64) {
    WALL_MS.store(ms as i64 - (nanos() / 1_000_000) as i64, Ordering::Relaxed);
}

pub fn jump_wall(by_ms: i64) {
    WALL_MS.fetch_add(by_ms, Ordering::Relaxed);
}

/// Milliseconds since the machine began, independent of its wall clock.
pub fn true_ms() -> u64 {
    (nanos() - BEGINNING) / 1_000_000
}

/// Keeps all threads of this process on one core, because only one of them runs at a time.
pub fn stay_on(core: usize) {
    let mask = 1u64 << core;
    // SAFETY: the mask is as long as it says.
    unsafe { sched_setaffinity(0, 8, &mask) };
}

/// The real processor time of all threads of this process, in milliseconds.
pub fn cpu_ms() -> u64 {
    let mut time = Timespec { seconds: 0, nanos: 0 };
    // SAFETY: the place is as long as it must be.
    unsafe { syscall(SYS_CLOCK_GETTIME, CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    time.seconds as u64 * 1000 + time.nanos as u64 / 1_000_000
}

/// # Safety
/// As of clock_gettime(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_gettime(clock: c_int, time: *mut Timespec) -> c_int {
    if CHANCE.try_with(Cell::get).unwrap_or(0) == 0 {
        // SAFETY: the caller's promise.
        return unsafe { syscall(SYS_CLOCK_GETTIME, clock, time) as c_int };
    }
    let nanos = match clock {
        CLOCK_REALTIME | CLOCK_REALTIME_COARSE => wall_ms() * 1_000_000 + nanos() % 1_000_000,
        _ => nanos(),
    };
    let said = Timespec { seconds: (nanos / 1_000_000_000) as i64, nanos: (nanos % 1_000_000_000) as i64 };
    // SAFETY: the caller's promise.
    unsafe { time.write(said) };
    0
}

/// # Safety
/// As of getrandom(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getrandom(buffer: *mut c_void, length: usize, flags: c_uint) -> isize {
    let mut state = CHANCE.try_with(Cell::get).unwrap_or(0);
    if state == 0 {
        // SAFETY: the caller's promise.
        return unsafe { syscall(SYS_GETRANDOM, buffer, length, flags) as isize };
    }
    for at in 0..length {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // SAFETY: the caller's promise.
        unsafe { buffer.cast::<u8>().add(at).write((state >> 33) as u8) };
    }
    CHANCE.set(state | 1);
    length as isize
}

/// The state of the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Disk {
    Well = 0,
    /// Every write fails: no space is left.
    Full = 1,
    /// The process is dead: its writes have no effect.
    Frozen = 2,
}

static DISK: AtomicU8 = AtomicU8::new(Disk::Well as u8);
/// The number of further writes before the process dies; 0: writes do not end it.
static WRITES_LEFT: AtomicU64 = AtomicU64::new(0);

pub fn set_disk(disk: Disk) {
    DISK.store(disk as u8, Ordering::Relaxed);
    WRITES_LEFT.store(0, Ordering::Relaxed);
}

/// The process will die just before its write with this number from now on.
pub fn die_after_writes(count: u64) {
    WRITES_LEFT.store(count, Ordering::Relaxed);
}

pub fn is_frozen() -> bool {
    DISK.load(Ordering::Relaxed) == Disk::Frozen as u8
}

const EIO: c_int = 5;
const ENOSPC: c_int = 28;

unsafe extern "C" {
    fn __errno_location() -> *mut c_int;
}

/// The result of an operation that the disk does not execute; none: it is executed. `takes`: the operation needs room.
fn undone(descriptor: c_int, done: isize, takes: bool) -> Option<isize> {
    // Standard output and error are not on the disk.
    if (1..=2).contains(&descriptor) {
        return None;
    }
    let mut disk = DISK.load(Ordering::Relaxed);
    if disk == Disk::Well as u8 {
        let is_last = WRITES_LEFT
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1))
            .is_ok_and(|before| before == 1);
        if !is_last {
            return None;
        }
        disk = Disk::Frozen as u8;
        DISK.store(disk, Ordering::Relaxed);
        seine_simulation_hooks::outside::die(true);
    }
    if disk == Disk::Frozen as u8 {
        // The store's own threads run on. After a write without effect they would rename a file that must be complete, and they do it with
        // a system call that cannot be replaced here.
        let is_real = CHANCE.try_with(Cell::get).unwrap_or(0) == 0;
        return Some(if is_real { failed(EIO) } else { done });
    }
    takes.then(|| failed(ENOSPC))
}

fn failed(errno: c_int) -> isize {
    // SAFETY: it is this thread's.
    unsafe { *__errno_location() = errno };
    -1
}

/// Does nothing, because the data folder is in memory.
#[unsafe(no_mangle)]
pub extern "C" fn fsync(_file: c_int) -> c_int {
    0
}

/// As [`fsync`].
#[unsafe(no_mangle)]
pub extern "C" fn fdatasync(_file: c_int) -> c_int {
    0
}

const NOWHERE: c_int = -1;
const SYS_WRITE: c_long = 1;
const SYS_PWRITE64: c_long = 18;
const SYS_WRITEV: c_long = 20;
const SYS_FTRUNCATE: c_long = 77;
const SYS_RENAME: c_long = 82;
const SYS_UNLINK: c_long = 87;

/// The result of a system call, as the C library gives it.
fn result(returned: c_long) -> isize {
    returned as isize // syscall(3) has set errno
}

/// # Safety
/// As of write(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn write(file: c_int, bytes: *const c_void, length: usize) -> isize {
    // SAFETY: the caller's promise.
    undone(file, length as isize, true).unwrap_or_else(|| result(unsafe { syscall(SYS_WRITE, file, bytes, length) }))
}

/// # Safety
/// As of pwrite(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pwrite64(file: c_int, bytes: *const c_void, length: usize, at: i64) -> isize {
    let wrote = || result(unsafe { syscall(SYS_PWRITE64, file, bytes, length, at) }); // SAFETY: the caller's promise.
    undone(file, length as isize, true).unwrap_or_else(wrote)
}

#[repr(C)]
pub struct Piece {
    bytes: *const c_void,
    length: usize,
}

/// # Safety
/// As of writev(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn writev(file: c_int, pieces: *const Piece, count: c_int) -> isize {
    // SAFETY: the caller's promise.
    let length: usize = (0..count as usize).map(|at| unsafe { (*pieces.add(at)).length }).sum();
    // SAFETY: the caller's promise.
    undone(file, length as isize, true).unwrap_or_else(|| result(unsafe { syscall(SYS_WRITEV, file, pieces, count) }))
}

/// # Safety
/// As of ftruncate(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ftruncate64(file: c_int, length: i64) -> c_int {
    // SAFETY: the caller's promise.
    undone(file, 0, false).unwrap_or_else(|| result(unsafe { syscall(SYS_FTRUNCATE, file, length) })) as c_int
}

/// # Safety
/// As of rename(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rename(from: *const c_char, to: *const c_char) -> c_int {
    // SAFETY: the caller's promise.
    undone(NOWHERE, 0, false).unwrap_or_else(|| result(unsafe { syscall(SYS_RENAME, from, to) })) as c_int
}

/// # Safety
/// As of unlink(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unlink(path: *const c_char) -> c_int {
    // SAFETY: the caller's promise.
    undone(NOWHERE, 0, false).unwrap_or_else(|| result(unsafe { syscall(SYS_UNLINK, path) })) as c_int
}

/// The process dies after some more writes.
pub fn is_to_die() -> bool {
    WRITES_LEFT.load(Ordering::Relaxed) > 0
}
