//! The keyspaces of the store with their options, and when their write buffers are flushed.

use fjall::compaction::Leveled;
use fjall::config::{BlockSizePolicy, CompressionPolicy, FilterPolicy, PartitioningPolicy, PinningPolicy};
use fjall::config::{BloomConstructionPolicy, FilterPolicyEntry};
use fjall::{AbstractTree, CompressionType, Keyspace, KeyspaceCreateOptions};

pub(crate) const KEYSPACES: [&str; 12] =
    ["urls", "ready", "later", "pages", "hosts", "robots", "accounts", "notes", "targets", "sources", "copies", "near"];

/// Full buffers of a keyspace that wait for fjall's worker, at most. At four, fjall lets writers wait, for ever if its
/// worker has failed meanwhile.
const WAITING: usize = 2;

/// Whether the write buffer is full. Then [`exchange`] must follow, after each commit.
///
/// fjall does this itself, but each commit asks its worker again until the buffer is exchanged. If the worker compacts
/// meanwhile, 1,000 such requests fill its queue. The worker then waits for ever for room in its own queue, nothing is
/// flushed any more, and memory and the journal grow without limit (fjall 3.1, github.com/fjall-rs/fjall/pull/323).
/// Buffers that are exchanged at once cause one request each.
pub(super) fn is_full(keyspace: &Keyspace) -> bool {
    keyspace.tree.active_memtable().size() > buffer_bytes(keyspace.name())
}

/// Hands a full write buffer to fjall's worker, which writes it to a table. False: too many wait for the worker.
pub(super) fn exchange(keyspace: &Keyspace) -> Result<bool, fjall::Error> {
    Ok(keyspace.sealed_memtable_count() < WAITING && keyspace.rotate_memtable().map(|_| true)?)
}

/// Memory first: write buffers add up to 39 MiB.
fn buffer_bytes(name: &str) -> u64 {
    let mib = match name {
        "urls" | "ready" => 8,
        "later" | "pages" | "near" => 4,
        "notes" | "sources" => 1,
        _ => 2,
    };
    mib << 20
}

/// Options are fixed when a keyspace is created.
pub(super) fn options(name: &str) -> KeyspaceCreateOptions {
    let is_large = matches!(name, "urls" | "ready" | "later" | "pages");
    let options = KeyspaceCreateOptions::default()
        .max_memtable_size(buffer_bytes(name))
        // Small tables, because a merge from level 0 rewrites all of level 1 (four tables) and delays flushes.
        .compaction_strategy(std::sync::Arc::new(Leveled::default().with_table_target_size(8 << 20)))
        // Levels from 2 on are large, so only the used parts of their indexes and filters are cached.
        .index_block_partitioning_policy(PartitioningPolicy::new([false, false, true]))
        .filter_block_partitioning_policy(PartitioningPolicy::new([false, false, true]))
        .filter_block_pinning_policy(PinningPolicy::new([true, true, false]));
    match name {
        // Hashes do not compress. Nine of ten lookups find the URL; the filter saves the disk access of the tenth.
        "urls" => options
            .data_block_compression_policy(CompressionPolicy::disabled())
            .filter_policy(FilterPolicy::all(FilterPolicyEntry::Bloom(BloomConstructionPolicy::BitsPerKey(10.0)))),
        // Hashes, only read by range.
        "near" => {
            options.data_block_compression_policy(CompressionPolicy::disabled()).filter_policy(FilterPolicy::disabled())
        }
        // Only read by range, so a filter is useless; larger blocks compress paths better.
        "ready" | "later" | "sources" => options
            .filter_policy(FilterPolicy::disabled())
            .data_block_size_policy(BlockSizePolicy::all(16 << 10))
            .data_block_compression_policy(CompressionPolicy::all(CompressionType::Lz4)),
        _ if is_large => options.data_block_compression_policy(CompressionPolicy::all(CompressionType::Lz4)),
        _ => options,
    }
}
