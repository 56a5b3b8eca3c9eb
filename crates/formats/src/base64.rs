//! Base64 (RFC 4648 §4): the standard alphabet, padded when written, padding optional when read.

use std::sync::LazyLock;

use base64::Engine;
use base64::engine::{DecodePaddingMode, GeneralPurposeConfig};

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
type Base64 = base64::engine::Simd;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
type Base64 = base64::engine::GeneralPurpose;

static ENGINE: LazyLock<Base64> = LazyLock::new(|| {
    let config = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    return Base64::standard(config);
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    return Base64::new(&base64::alphabet::STANDARD, config);
});

/// Appends the base64 of `bytes` to `out`.
pub fn encode_into(bytes: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + bytes.len().div_ceil(3) * 4, 0);
    let written = ENGINE.encode_slice(bytes, &mut out[start..]).unwrap_or(0);
    debug_assert_eq!(start + written, out.len());
}

/// The base64 of `bytes`.
pub fn encode(bytes: &[u8]) -> String {
    ENGINE.encode(bytes)
}

/// The bytes that `text` stands for. The error says which character, counted from 0, is wrong.
pub fn decode(text: &str) -> Result<Vec<u8>, base64::DecodeError> {
    ENGINE.decode(text)
}
