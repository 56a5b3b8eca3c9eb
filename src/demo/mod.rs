//! The website that `seine demo` crawls, served on loopback by the program itself.
