//! Arguments → one call.

use std::process::ExitCode;

fn main() -> ExitCode {
    seine::cli::main(std::env::args_os())
}
