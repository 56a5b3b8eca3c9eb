//! CBOR of an event's id: 32 lower-case hex digits, the usual form, are stored as 16 bytes; anything else as text.

use data_encoding::HEXLOWER;
use minicbor::data::Type;
use minicbor::decode::{Decoder, Error};
use minicbor::encode::{Encoder, Error as EncodeError, Write};

pub(crate) fn encode<C, W: Write>(id: &String, out: &mut Encoder<W>, _: &mut C) -> Result<(), EncodeError<W::Error>> {
    match HEXLOWER.decode(id.as_bytes()) {
        Ok(bytes) => out.bytes(&bytes)?.ok(),
        Err(_) => out.str(id)?.ok(),
    }
}

pub(crate) fn decode<C>(input: &mut Decoder, _: &mut C) -> Result<String, Error> {
    match input.datatype()? {
        Type::Bytes => Ok(HEXLOWER.encode(input.bytes()?)),
        _ => Ok(input.str()?.to_owned()),
    }
}
