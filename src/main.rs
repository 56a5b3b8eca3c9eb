//! Parses the arguments and calls the command.

use std::process::ExitCode;

/// Pages are allocated in one thread and freed in others. This allocator needs less CPU and memory for that than the
/// system's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    seine::cli::main(std::env::args_os())
}
