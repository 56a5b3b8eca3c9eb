//! The judge: decides what an answer means for its URL, its host and the destinations. Pure functions of plain data: no
//! I/O, no clock, no frontier. The worker and the validator both call it.

pub mod alias;
pub mod blame;
pub mod canonical;
pub mod change;
pub mod doubt;
mod keep;
pub mod record;
pub mod redirect;
pub mod retry;
pub mod robots;
pub mod trouble;
pub mod withheld;
