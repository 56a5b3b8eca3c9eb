//! Arguments → one call.

use std::process::ExitCode;

/// Pages are made in one thread and freed in others; this allocator takes that with less CPU and memory than the system's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    seine::cli::main(std::env::args_os())
}
