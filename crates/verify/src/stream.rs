//! Numbers from a compressed stream.

use std::io::{BufRead, BufReader, Read};

use flate2::bufread::GzDecoder;

/// Reads unsigned numbers, seven bits a byte, the lowest first; the highest bit says that more
/// follow.
pub(crate) struct Numbers<'r> {
    input: BufReader<GzDecoder<Box<dyn BufRead + 'r>>>,
    /// How many bytes were read, uncompressed.
    pub(crate) offset: u64,
}

impl<'r> Numbers<'r> {
    pub(crate) fn new(input: impl Read + 'r) -> Numbers<'r> {
        let input: Box<dyn BufRead + 'r> = Box::new(BufReader::new(input));
        Numbers { input: BufReader::with_capacity(1 << 16, GzDecoder::new(input)), offset: 0 }
    }

    fn try_byte(&mut self) -> Result<Option<u8>, String> {
        let buffer = self.input.fill_buf().map_err(|error| format!("cannot be read: {error}"))?;
        let Some(&byte) = buffer.first() else { return Ok(None) };
        self.input.consume(1);
        self.offset += 1;
        Ok(Some(byte))
    }

    pub(crate) fn byte(&mut self) -> Result<u8, String> {
        self.try_byte()?.ok_or("the certificate ends too early".to_string())
    }

    pub(crate) fn number(&mut self) -> Result<u64, String> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                return Err("a number of more than 64 bits".into());
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err("a number of more than 64 bits".into())
    }

    /// A number below a limit.
    pub(crate) fn below(&mut self, limit: usize, what: &str) -> Result<usize, String> {
        let number = self.number()?;
        let index = usize::try_from(number).ok().filter(|&index| index < limit);
        index.ok_or_else(|| format!("{what} {number}, of which there are {limit}"))
    }

    /// That the stream ends here, and the file with it; this is also where its check sum is looked
    /// at.
    pub(crate) fn end(&mut self) -> Result<(), String> {
        let is_over = self.try_byte()?.is_none();
        let file = self.input.get_mut().get_mut();
        let rest = file.fill_buf().map_err(|error| format!("cannot be read: {error}"))?;
        match is_over && rest.is_empty() {
            true => Ok(()),
            false => Err("the certificate goes on after its end".into()),
        }
    }
}
