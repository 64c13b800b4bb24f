//! NumPy archives: a zip file of arrays.
//!
//! An entry `NAME.npy` is a magic number, a version, the type and shape of the array as a literal of
//! Python, padded to a multiple of 64 bytes, and the elements row by row, little endian.
//! Texts are arrays of characters of four bytes, as many for each element as the longest has.
//! The bytes depend on the arrays alone: entries have no time.

use std::io::{self, BufWriter, Seek, Write};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

/// An archive that is being written.
pub(super) struct Archive<W: Write + Seek>(ZipWriter<W>);

/// An element of an array.
pub(super) trait Number {
    /// What NumPy calls the type.
    const TYPE: &'static str;

    fn write(self, out: &mut impl Write) -> io::Result<()>;
}

macro_rules! number {
    ($number:ty, $name:literal) => {
        impl Number for $number {
            const TYPE: &'static str = $name;

            fn write(self, out: &mut impl Write) -> io::Result<()> {
                out.write_all(&self.to_le_bytes())
            }
        }
    };
}

number!(i32, "<i4");
number!(i64, "<i8");
number!(f64, "<f8");

impl<W: Write + Seek> Archive<W> {
    pub(super) fn new(out: W) -> Archive<W> {
        Archive(ZipWriter::new(out))
    }

    /// Adds an array of numbers; without a shape it is one number.
    ///
    /// # Panics
    /// If the shape is not that of so many numbers.
    pub(super) fn numbers<N: Number>(
        &mut self,
        name: &str,
        shape: &[usize],
        numbers: impl IntoIterator<Item = N>,
    ) -> io::Result<()> {
        let mut out = self.begin(name, N::TYPE, shape)?;
        let mut count = 0;
        for number in numbers {
            number.write(&mut out)?;
            count += 1;
        }
        assert_eq!(count, shape.iter().product::<usize>(), "the numbers of {name}");
        out.flush()
    }

    /// Adds one text.
    pub(super) fn text(&mut self, name: &str, text: &str) -> io::Result<()> {
        self.texts(name, &[], &[text])
    }

    /// Adds a list of texts.
    pub(super) fn list<T: AsRef<str>>(&mut self, name: &str, texts: &[T]) -> io::Result<()> {
        self.texts(name, &[texts.len()], texts)
    }

    fn texts<T: AsRef<str>>(&mut self, name: &str, shape: &[usize], texts: &[T]) -> io::Result<()> {
        let length = |text: &T| text.as_ref().chars().count();
        let longest = texts.iter().map(length).max().unwrap_or(0).max(1);
        let mut out = self.begin(name, &format!("<U{longest}"), shape)?;
        for text in texts {
            for c in text.as_ref().chars().chain(std::iter::repeat('\0')).take(longest) {
                out.write_all(&u32::from(c).to_le_bytes())?;
            }
        }
        out.flush()
    }

    fn begin(
        &mut self,
        name: &str,
        kind: &str,
        shape: &[usize],
    ) -> io::Result<BufWriter<&mut ZipWriter<W>>> {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .last_modified_time(DateTime::default())
            .large_file(true);
        self.0.start_file(format!("{name}.npy"), options)?;
        let mut out = BufWriter::new(&mut self.0);
        out.write_all(&header(kind, shape))?;
        Ok(out)
    }

    pub(super) fn finish(self) -> io::Result<W> {
        Ok(self.0.finish()?)
    }
}

/// What an entry begins with.
fn header(kind: &str, shape: &[usize]) -> Vec<u8> {
    let shape: String = shape.iter().map(|n| format!("{n},")).collect();
    let told = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({shape})}}");
    const BEFORE: usize = 10;
    // With the end of the line.
    let length = (BEFORE + told.len() + 1).next_multiple_of(64) - BEFORE;
    let mut header = b"\x93NUMPY\x01\x00".to_vec();
    header.extend_from_slice(&(length as u16).to_le_bytes());
    header.extend_from_slice(format!("{told:<width$}\n", width = length - 1).as_bytes());
    header
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Read};

    use super::*;

    #[test]
    fn entries_are_what_numpy_describes() {
        let mut archive = Archive::new(Cursor::new(Vec::new()));
        archive.numbers("n", &[2, 1], [1i32, -2]).unwrap();
        archive.list("names", &["é", "abc"]).unwrap();
        archive.numbers("one", &[], [0.5f64]).unwrap();
        let mut read = zip::ZipArchive::new(archive.finish().unwrap()).unwrap();
        let mut entry = |name: &str| {
            let mut bytes = Vec::new();
            read.by_name(name).unwrap().read_to_end(&mut bytes).unwrap();
            let data = 10 + u16::from_le_bytes([bytes[8], bytes[9]]) as usize;
            assert!(data.is_multiple_of(64) && bytes[data - 1] == b'\n');
            let told = String::from_utf8(bytes[10..data].to_vec()).unwrap();
            (told.trim_end().to_string(), bytes[data..].to_vec())
        };
        let (told, data) = entry("n.npy");
        assert_eq!(told, "{'descr': '<i4', 'fortran_order': False, 'shape': (2,1,)}");
        assert_eq!(data, [1, 0, 0, 0, 254, 255, 255, 255]);
        let (told, data) = entry("names.npy");
        assert_eq!(told, "{'descr': '<U3', 'fortran_order': False, 'shape': (2,)}");
        let expected = ['é', '\0', '\0', 'a', 'b', 'c'].map(|c| u32::from(c).to_le_bytes());
        assert_eq!(data, expected.as_flattened());
        let (told, data) = entry("one.npy");
        assert_eq!(told, "{'descr': '<f8', 'fortran_order': False, 'shape': ()}");
        assert_eq!(data, 0.5f64.to_le_bytes());
    }
}
