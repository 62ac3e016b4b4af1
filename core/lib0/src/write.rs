//! Writes lib0's primitive forms at the end of a `Vec<u8>`; the counterparts are in [`read`](crate::read).

/// Writes an unsigned number, seven bits a byte, lowest first.
#[inline]
pub fn write_var_u64(out: &mut Vec<u8>, mut number: u64) {
    while number > 0x7f {
        out.push(0x80 | (number & 0x7f) as u8);
        number >>= 7;
    }
    out.push((number & 0x7f) as u8);
}

/// Writes a signed number by sign and magnitude; `negative` with magnitude 0 is JavaScript's -0.
#[inline]
pub fn write_var_signed(out: &mut Vec<u8>, negative: bool, magnitude: u64) {
    let sign = if negative { 0x40 } else { 0 };
    let more = if magnitude > 0x3f { 0x80 } else { 0 };
    out.push(more | sign | (magnitude & 0x3f) as u8);
    if magnitude > 0x3f {
        write_var_u64(out, magnitude >> 6);
    }
}

/// Writes a signed number.
#[inline]
pub fn write_var_i64(out: &mut Vec<u8>, number: i64) {
    write_var_signed(out, number < 0, number.unsigned_abs());
}

/// Writes a length and the bytes.
#[inline]
pub fn write_var_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    write_var_u64(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Writes a length in bytes and the UTF-8.
#[inline]
pub fn write_var_str(out: &mut Vec<u8>, text: &str) {
    write_var_bytes(out, text.as_bytes());
}
