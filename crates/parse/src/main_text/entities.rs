//! The character references of HTML 4.01 and `&apos;`, which NekoHTML knows.

use std::collections::HashMap;
use std::sync::LazyLock;

/// The character of `&name;`.
pub(super) fn character(name: &str) -> Option<char> {
    // No name is shorter or longer. This check is fast for pages full of `&`.
    if !(2..=8).contains(&name.len()) {
        return None;
    }
    ENTITIES.get(name).copied()
}

/// The character of `&#number;`; none if it is not a number. Invalid code points become U+FFFD. Control characters from
/// 128 on become the windows-1252 characters, as in browsers; NekoHTML keeps them.
pub(super) fn numbered(number: &str) -> Option<char> {
    let value = match number.strip_prefix(['x', 'X']) {
        Some(digits) => i32::from_str_radix(digits, 16),
        None => number.parse(),
    };
    let value = value.ok().and_then(|value| u32::try_from(value).ok())?;
    match u8::try_from(value) {
        Ok(byte @ 0x80..=0x9f) => encoding_rs::WINDOWS_1252.decode_without_bom_handling(&[byte]).0.chars().next(),
        _ => Some(char::from_u32(value).unwrap_or(char::REPLACEMENT_CHARACTER)),
    }
}

static ENTITIES: LazyLock<HashMap<&str, char>> = LazyLock::new(|| {
    let character = |name: &str| htmlize::unescape(format!("&{name};")).chars().next();
    let known = NAMES.split(' ').filter_map(|name| Some((name, character(name)?)));
    // HTML 5 uses these names for other brackets.
    known.chain([("lang", '\u{2329}'), ("rang", '\u{232a}')]).collect()
});

const NAMES: &str = "\
    AElig Aacute Acirc Agrave Alpha Aring Atilde Auml Beta Ccedil Chi Dagger Delta ETH Eacute Ecirc Egrave Epsilon Eta Euml Gamma \
    Iacute Icirc Igrave Iota Iuml Kappa Lambda Mu Ntilde Nu OElig Oacute Ocirc Ograve Omega Omicron Oslash Otilde Ouml Phi Pi \
    Prime Psi Rho Scaron Sigma THORN Tau Theta Uacute Ucirc Ugrave Upsilon Uuml Xi Yacute Yuml Zeta aacute acirc acute aelig \
    agrave alefsym alpha amp and ang apos aring asymp atilde auml bdquo beta brvbar bull cap ccedil cedil cent chi circ clubs \
    cong copy crarr cup curren dArr dagger darr deg delta diams divide eacute ecirc egrave empty emsp ensp epsilon equiv eta eth \
    euml euro exist fnof forall frac12 frac14 frac34 frasl gamma ge gt hArr harr hearts hellip iacute icirc iexcl igrave image \
    infin int iota iquest isin iuml kappa lArr lambda lang laquo larr lceil ldquo le lfloor lowast loz lrm lsaquo lsquo lt macr \
    mdash micro middot minus mu nabla nbsp ndash ne ni not notin nsub ntilde nu oacute ocirc oelig ograve oline omega omicron \
    oplus or ordf ordm oslash otilde otimes ouml para part permil perp phi pi piv plusmn pound prime prod prop psi quot rArr \
    radic rang raquo rarr rceil rdquo real reg rfloor rho rlm rsaquo rsquo sbquo scaron sdot sect shy sigma sigmaf sim spades sub \
    sube sum sup sup1 sup2 sup3 supe szlig tau there4 theta thetasym thinsp thorn tilde times trade uArr uacute uarr ucirc ugrave \
    uml upsih upsilon uuml weierp xi yacute yen yuml zeta zwj zwnj";
