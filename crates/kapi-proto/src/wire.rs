//! The wire format: tagged fields of variable-length numbers and length-prefixed bytes.

use crate::error::ProtoError;

/// The value of one field as it stands on the wire.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum WireValue<'a> {
    Varint(u64),
    Fixed64(u64),
    Fixed32,
    Bytes(&'a [u8]),
    /// A group, which no known message has.
    Group,
}

impl WireValue<'_> {
    /// The wire type, as errors tell it.
    pub(crate) fn wire_type(self) -> u8 {
        match self {
            Self::Varint(_) => 0,
            Self::Fixed64(_) => 1,
            Self::Bytes(_) => 2,
            Self::Group => 3,
            Self::Fixed32 => 5,
        }
    }
}

/// Reads a message from its bytes.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// The next field, none at the end. `message` is the name told in errors.
    pub(crate) fn next_field(&mut self, message: &'static str) -> Result<Option<(u32, WireValue<'a>)>, ProtoError> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let (number, wire_type) = self.tag()?;
        if wire_type == 4 {
            return Err(ProtoError::EndOfNoGroup { message });
        }
        match u32::try_from(number) {
            Ok(number) if number > 0 => Ok(Some((number, self.value(wire_type)?))),
            _ => Err(ProtoError::IllegalTag { message, number, wire_type }),
        }
    }

    /// The next variable-length number, none at the end.
    pub(crate) fn next_varint(&mut self) -> Result<Option<u64>, ProtoError> {
        if self.rest.is_empty() { Ok(None) } else { self.varint().map(Some) }
    }

    /// The next eight bytes, none at the end.
    pub(crate) fn next_fixed64(&mut self) -> Result<Option<u64>, ProtoError> {
        if self.rest.is_empty() { Ok(None) } else { self.fixed64().map(Some) }
    }

    fn tag(&mut self) -> Result<(i32, u8), ProtoError> {
        let tag = self.varint()?;
        // Go keeps the low 32 bits of the number, signed; so a huge one is illegal rather than unknown.
        Ok(((tag >> 3) as i32, (tag & 7) as u8))
    }

    fn value(&mut self, wire_type: u8) -> Result<WireValue<'a>, ProtoError> {
        Ok(match wire_type {
            0 => WireValue::Varint(self.varint()?),
            1 => WireValue::Fixed64(self.fixed64()?),
            2 => WireValue::Bytes(self.delimited()?),
            3 => {
                self.skip_group()?;
                WireValue::Group
            }
            5 => {
                self.take(4)?;
                WireValue::Fixed32
            }
            other => return Err(ProtoError::IllegalWireType(other)),
        })
    }

    /// Passes over the rest of a group, with all that are nested in it.
    fn skip_group(&mut self) -> Result<(), ProtoError> {
        let mut open = 1_u32;
        while open > 0 {
            match self.tag()?.1 {
                0 => drop(self.varint()?),
                1 => drop(self.fixed64()?),
                2 => drop(self.delimited()?),
                3 => open += 1,
                4 => open -= 1,
                5 => drop(self.take(4)?),
                other => return Err(ProtoError::IllegalWireType(other)),
            }
        }
        Ok(())
    }

    fn delimited(&mut self) -> Result<&'a [u8], ProtoError> {
        let length = self.varint()?;
        if i64::try_from(length).is_err() {
            return Err(ProtoError::NegativeLength);
        }
        self.take(usize::try_from(length).map_err(|_| ProtoError::UnexpectedEnd)?)
    }

    fn fixed64(&mut self) -> Result<u64, ProtoError> {
        let bytes = self.take(8)?;
        Ok(u64::from_le_bytes(bytes.try_into().map_err(|_| ProtoError::UnexpectedEnd)?))
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], ProtoError> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(ProtoError::UnexpectedEnd)?;
        self.rest = rest;
        Ok(taken)
    }

    fn varint(&mut self) -> Result<u64, ProtoError> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.rest.split_first().ok_or(ProtoError::UnexpectedEnd)?;
            self.rest = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if *byte < 0x80 {
                return Ok(value);
            }
        }
        Err(ProtoError::Overflow)
    }
}

/// Writes a message.
#[derive(Default)]
pub(crate) struct Writer {
    pub(crate) bytes: Vec<u8>,
}

impl Writer {
    pub(crate) fn varint_field(&mut self, number: u32, value: u64) {
        self.tag(number, 0);
        self.varint(value);
    }

    pub(crate) fn double_field(&mut self, number: u32, value: f64) {
        self.tag(number, 1);
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn bytes_field(&mut self, number: u32, value: &[u8]) {
        self.tag(number, 2);
        self.varint(value.len() as u64);
        self.bytes.extend_from_slice(value);
    }

    /// Writes a length-prefixed field whose content `fill` writes.
    pub(crate) fn nested_field<E>(
        &mut self,
        number: u32,
        fill: impl FnOnce(&mut Self) -> Result<(), E>,
    ) -> Result<(), E> {
        self.tag(number, 2);
        let start = self.bytes.len();
        fill(self)?;
        // The length is only known now: it goes behind the content and is then turned to the front.
        let end = self.bytes.len();
        self.varint((end - start) as u64);
        let length_bytes = self.bytes.len() - end;
        if let Some(content) = self.bytes.get_mut(start..) {
            content.rotate_right(length_bytes);
        }
        Ok(())
    }

    fn tag(&mut self, number: u32, wire_type: u8) {
        self.varint(u64::from(number) << 3 | u64::from(wire_type));
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<Option<(u32, WireValue<'_>)>, ProtoError> {
        Reader::new(bytes).next_field("Thing")
    }

    #[test]
    fn fields_are_read() {
        let table: [(&[u8], u32, WireValue<'_>); 5] = [
            (&[0x08, 0x96, 0x01], 1, WireValue::Varint(150)),
            (&[0x11, 1, 0, 0, 0, 0, 0, 0, 0], 2, WireValue::Fixed64(1)),
            (&[0x12, 0x02, b'h', b'i'], 2, WireValue::Bytes(b"hi")),
            (&[0x0b, 0x13, 0x10, 0x01, 0x14, 0x0c], 1, WireValue::Group),
            (&[0x0d, 0, 0, 0, 0], 1, WireValue::Fixed32),
        ];
        for (bytes, number, value) in table {
            assert_eq!(read(bytes), Ok(Some((number, value))));
        }
        assert_eq!(read(&[]), Ok(None));
    }

    #[test]
    fn malformed_fields_are_refused() {
        let table: [(&[u8], ProtoError); 9] = [
            (&[0xff], ProtoError::UnexpectedEnd),
            (&[0x0a, 0x7f], ProtoError::UnexpectedEnd),
            (&[0x09, 0, 0], ProtoError::UnexpectedEnd),
            (&[0x0b, 0x08], ProtoError::UnexpectedEnd),
            (&[0x04], ProtoError::EndOfNoGroup { message: "Thing" }),
            (&[0x00, 0x01], ProtoError::IllegalTag { message: "Thing", number: 0, wire_type: 0 }),
            (&[0x0f, 0x01], ProtoError::IllegalWireType(7)),
            (&[0xff; 11], ProtoError::Overflow),
            (&[0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01], ProtoError::NegativeLength),
        ];
        for (bytes, error) in table {
            assert_eq!(read(bytes), Err(error), "{bytes:x?}");
        }
    }

    #[test]
    fn lengths_are_put_before_nested_content() {
        let mut writer = Writer::default();
        let content = vec![b'x'; 200];
        let filled: Result<(), ()> = writer.nested_field(3, |inner| {
            inner.bytes_field(1, &content);
            Ok(())
        });
        assert_eq!(filled, Ok(()));
        assert_eq!(writer.bytes.get(..6), Some(&[0x1a, 0xcb, 0x01, 0x0a, 0xc8, 0x01][..]));
        assert_eq!(read(&writer.bytes), Ok(Some((3, WireValue::Bytes(&writer.bytes[3..])))));
    }
}
