//! Writes lib0's primitive forms; the counterparts are in [`read`](crate::read).

/// Where bytes go: a `Vec<u8>`, or a column of the second update format.
pub trait Sink {
    /// Adds a byte.
    fn push(&mut self, byte: u8);
    /// Adds bytes.
    fn extend_from_slice(&mut self, bytes: &[u8]);
}

impl Sink for Vec<u8> {
    #[inline]
    fn push(&mut self, byte: u8) {
        Self::push(self, byte);
    }
    #[inline]
    fn extend_from_slice(&mut self, bytes: &[u8]) {
        Self::extend_from_slice(self, bytes);
    }
}

/// Returns how many bytes [`write_var_u64`] writes.
#[inline]
pub fn var_u64_len(number: u64) -> usize {
    let bits = 64 - (number | 1).leading_zeros() as usize;
    bits.div_ceil(7)
}

/// Returns how many bytes [`write_var_signed`] writes.
#[inline]
pub fn var_signed_len(magnitude: u64) -> usize {
    if magnitude > 0x3f { 1 + var_u64_len(magnitude >> 6) } else { 1 }
}

/// Writes an unsigned number, seven bits a byte, lowest first.
#[inline]
pub fn write_var_u64(out: &mut impl Sink, mut number: u64) {
    while number > 0x7f {
        out.push(0x80 | (number & 0x7f) as u8);
        number >>= 7;
    }
    out.push((number & 0x7f) as u8);
}

/// Writes a signed number by sign and magnitude; `negative` with magnitude 0 is JavaScript's -0.
#[inline]
pub fn write_var_signed(out: &mut impl Sink, negative: bool, magnitude: u64) {
    let sign = if negative { 0x40 } else { 0 };
    let more = if magnitude > 0x3f { 0x80 } else { 0 };
    out.push(more | sign | (magnitude & 0x3f) as u8);
    if magnitude > 0x3f {
        write_var_u64(out, magnitude >> 6);
    }
}

/// Writes a signed number.
#[inline]
pub fn write_var_i64(out: &mut impl Sink, number: i64) {
    write_var_signed(out, number < 0, number.unsigned_abs());
}

/// Writes a length and the bytes.
#[inline]
pub fn write_var_bytes(out: &mut impl Sink, bytes: &[u8]) {
    write_var_u64(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Writes a length in bytes and the UTF-8.
#[inline]
pub fn write_var_str(out: &mut impl Sink, text: &str) {
    write_var_bytes(out, text.as_bytes());
}
