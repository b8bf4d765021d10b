//! Base32 with padding.

const LETTERS: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

pub(super) fn encode(content: &[u8]) -> String {
    let mut out = String::with_capacity(content.len().div_ceil(5) * 8);
    for chunk in content.chunks(5) {
        let mut bits = [0; 8];
        bits.iter_mut().skip(3).zip(chunk).for_each(|(to, from)| *to = *from);
        let bits = u64::from_be_bytes(bits);
        let letters = (chunk.len() * 8).div_ceil(5);
        for index in 0..8 {
            let letter = usize::try_from(bits >> (35 - 5 * index) & 31).unwrap_or(0);
            out.push(if index < letters { char::from(*LETTERS.get(letter).unwrap_or(&b'A')) } else { '=' });
        }
    }
    out
}

/// The content, or where it stops being base32.
pub(super) fn decode(text: &[u8]) -> Result<Vec<u8>, usize> {
    let text: Vec<u8> = text.iter().copied().filter(|byte| !b"\r\n".contains(byte)).collect();
    let content: Vec<u8> = text.iter().copied().take_while(|byte| *byte != b'=').collect();
    let padding = text.len() - content.len();
    if !text.len().is_multiple_of(8) || padding > 6 || text.iter().skip(content.len()).any(|byte| *byte != b'=') {
        return Err(text.len() / 8 * 8);
    }
    let mut out = Vec::with_capacity(content.len() * 5 / 8);
    let (mut bits, mut count) = (0_u32, 0);
    for (at, byte) in content.iter().enumerate() {
        let value = LETTERS.iter().position(|letter| letter == byte).ok_or(at)?;
        bits = bits << 5 | u32::try_from(value).unwrap_or(0);
        count += 5;
        if count >= 8 {
            count -= 8;
            out.push(u8::try_from(bits >> count & 0xff).unwrap_or(0));
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_survives() {
        for (plain, coded) in [("", ""), ("f", "MY======"), ("foobar", "MZXW6YTBOI======"), ("fooba", "MZXW6YTB")] {
            assert_eq!(encode(plain.as_bytes()), coded);
            assert_eq!(decode(coded.as_bytes()).unwrap(), plain.as_bytes());
        }
        assert_eq!(decode(b"a"), Err(0));
    }
}
