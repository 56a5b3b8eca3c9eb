//! A picture and a printed guide, made here so that no binary files lie in the source tree.

use std::io::{self, Write};

const WIDTH: usize = 480;
const HEIGHT: usize = 270;
const HORIZON: usize = 165;
const SUN: (i64, i64) = (350, 120);

/// A PNG (RFC 2083) of a boat on the evening sea.
pub(super) fn evening_png() -> io::Result<Vec<u8>> {
    let mut rows = Vec::with_capacity((WIDTH * 3 + 1) * HEIGHT);
    for y in 0..HEIGHT {
        rows.push(0); // No filter.
        for x in 0..WIDTH {
            rows.extend(pixel(x, y));
        }
    }
    let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::new(6));
    zlib.write_all(&rows)?;
    let mut header = Vec::new();
    header.extend((WIDTH as u32).to_be_bytes());
    header.extend((HEIGHT as u32).to_be_bytes());
    header.extend([8, 2, 0, 0, 0]); // 8 bits a channel, RGB.
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    chunk(&mut png, b"IHDR", &header);
    chunk(&mut png, b"IDAT", &zlib.finish()?);
    chunk(&mut png, b"IEND", &[]);
    Ok(png)
}

fn chunk(png: &mut Vec<u8>, name: &[u8; 4], data: &[u8]) {
    let named = [name.as_slice(), data].concat();
    png.extend((data.len() as u32).to_be_bytes());
    png.extend(&named);
    png.extend(crc32fast::hash(&named).to_be_bytes());
}

fn pixel(x: usize, y: usize) -> [u8; 3] {
    let (sx, sy) = (x as i64, y as i64);
    if is_boat(sx, sy) {
        return [40, 32, 40];
    }
    let from_sun = ((sx - SUN.0).pow(2) + (sy - SUN.1).pow(2)) as f64;
    if y < HORIZON {
        if from_sun < 26.0 * 26.0 {
            return [255, 226, 150];
        }
        let glow = (1.0 - from_sun.sqrt() / 420.0).max(0.0);
        let height = y as f64 / HORIZON as f64;
        let (red, green) = (75.0 + (120.0 + 60.0 * glow) * height, 80.0 + (50.0 + 50.0 * glow) * height);
        return [shade(red), shade(green), shade(140.0 - 30.0 * height)];
    }
    let depth = (y - HORIZON) as f64 / (HEIGHT - HORIZON) as f64;
    let wave = ((x as f64 / 9.0 + y as f64).sin() + (x as f64 / 23.0 - y as f64 / 3.0).sin()) * 9.0;
    let glitter = if (sx - SUN.0).abs() < 12 + (sy - HORIZON as i64) / 2 && (x + y * 3) % 7 < 3 { 90.0 } else { 0.0 };
    [shade(60.0 + glitter + wave - 30.0 * depth), shade(85.0 + glitter * 0.8 + wave), shade(110.0 + wave)]
}

/// A hull and a sail, left of the sun.
fn is_boat(x: i64, y: i64) -> bool {
    let hull = (160..=176).contains(&y) && (x - 170).abs() <= 46 - (y - 160) * 2;
    let sail = (70..158).contains(&y) && x >= 172 && x - 172 <= (y - 70) / 2;
    hull || sail || ((60..160).contains(&y) && (168..171).contains(&x))
}

fn shade(value: f64) -> u8 {
    value.clamp(0.0, 255.0) as u8
}

/// A one-page PDF (ISO 32000-1) with one line of text for each of `lines`; plain ASCII without brackets or backslashes.
pub(super) fn guide_pdf(lines: &[&str]) -> Vec<u8> {
    let shown: String = lines.iter().map(|line| format!("({line}) Tj T*\n")).collect();
    let content = format!("BT /F1 14 Tf 18 TL 72 760 Td\n{shown}ET\n");
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R \
         /Resources << /Font << /F1 5 0 R >> >> >>"
            .to_owned(),
        format!("<< /Length {} >>\nstream\n{content}endstream", content.len()),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Times-Roman >>".to_owned(),
    ];
    let mut pdf = String::from("%PDF-1.4\n");
    let mut table = String::from("0000000000 65535 f \n");
    for (index, object) in objects.iter().enumerate() {
        table.push_str(&format!("{:010} 00000 n \n", pdf.len()));
        pdf.push_str(&format!("{} 0 obj\n{object}\nendobj\n", index + 1));
    }
    let (start, size) = (pdf.len(), objects.len() + 1);
    pdf.push_str(&format!(
        "xref\n0 {size}\n{table}trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n"
    ));
    pdf.into_bytes()
}
