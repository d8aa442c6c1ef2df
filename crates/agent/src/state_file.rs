//! The state file: how much of each connection has been exported, so that the next run goes on from there.
//!
//! It enters and leaves the flow table as [`StateEntry`] values. Layout, all integers big-endian: a head (magic,
//! boot id, the moment up to which connections were seen: wall clock and monotonic), entries of fixed size, the number of entries, and a CRC-32 of all before it. It is
//! written beside the old one and renamed over it, so that a crash leaves one or the other, whole.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crc32fast::Hasher;
use flow_table::{Now, StateEntry};

mod entry;
pub(crate) mod keeper;
mod saving;

use entry::{ENTRY_LEN, Reader, decode, encode};

/// Changes whenever the layout does.
const MAGIC: [u8; 8] = *b"ctipfix\x02";
const HEAD_LEN: u64 = 8 + 16 + 2 * 8;
const TAIL_LEN: u64 = 8 + 4;

/// Why a state file is not used. The export goes on without it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StateFileError {
    #[error("{path}: {operation}: {source}", path = .path.display())]
    Io {
        path: PathBuf,
        operation: &'static str,
        source: io::Error,
    },
    #[error("{}: it was not written by this version of the agent", .0.display())]
    Format(PathBuf),
    #[error("{}: it was written before the last boot, and its connections are gone", .0.display())]
    OtherBoot(PathBuf),
    #[error("{}: it is damaged: {}", .0.display(), .1)]
    Damaged(PathBuf, &'static str),
}

/// The 128 bits that the kernel draws at each boot.
pub(crate) fn boot_id() -> io::Result<[u8; 16]> {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
    let digits: String = text.chars().filter(char::is_ascii_hexdigit).collect();
    u128::from_str_radix(&digits, 16)
        .map(u128::to_be_bytes)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "boot_id is no number"))
}

/// Reads a file that was written in this boot. `entries` gets them in slices of at most `SLICE`; it is called only
/// after the whole file has proved sound, because half a baseline is worse than none. Returns the moment up to
/// which its run had seen connections; None when there is no file.
pub(crate) fn read(
    path: &Path,
    boot: [u8; 16],
    mut begin: impl FnMut(Now),
    mut entries: impl FnMut(&[StateEntry]),
) -> Result<Option<Now>, StateFileError> {
    let failed = |operation, source| StateFileError::Io {
        path: path.to_owned(),
        operation,
        source,
    };
    let damaged = |what| StateFileError::Damaged(path.to_owned(), what);
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed("open", error)),
    };
    let length = file
        .metadata()
        .map_err(|error| failed("ask for its size", error))?
        .len();
    let mut head = [0; HEAD_LEN as usize];
    let mut reader = BufReader::with_capacity(64 * 1024, file);
    match reader.read_exact(&mut head) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            return Err(damaged("it is too short"));
        }
        result => result.map_err(|error| failed("read", error))?,
    }
    let mut at = Reader(&head);
    if at.take() != Some(MAGIC) {
        return Err(StateFileError::Format(path.to_owned()));
    }
    if at.take() != Some(boot) {
        return Err(StateFileError::OtherBoot(path.to_owned()));
    }
    let seen_until = Now {
        wall_ns: at.u64().unwrap_or_default(),
        monotonic_ms: at.u64().unwrap_or_default(),
    };
    let body = length
        .checked_sub(HEAD_LEN + TAIL_LEN)
        .ok_or_else(|| damaged("it is too short"))?;
    let count = body / ENTRY_LEN as u64;
    if body % ENTRY_LEN as u64 != 0 {
        return Err(damaged("it ends within an entry"));
    }
    check_sum(path, &head, &mut reader, count)?;

    // Sound: read it again, this time for use.
    let file = File::open(path).map_err(|error| failed("open", error))?;
    let mut reader = BufReader::with_capacity(64 * 1024, file);
    reader
        .read_exact(&mut head)
        .map_err(|error| failed("read", error))?;
    begin(seen_until);
    let mut slice = Vec::with_capacity(SLICE);
    for _ in 0..count {
        let mut octets = [0; ENTRY_LEN];
        reader
            .read_exact(&mut octets)
            .map_err(|error| failed("read", error))?;
        slice.push(
            decode(&octets).ok_or_else(|| damaged("an entry has addresses of two families"))?,
        );
        if slice.len() == SLICE {
            entries(&slice);
            slice.clear();
        }
    }
    entries(&slice);
    Ok(Some(seen_until))
}

/// Entries handed over at once: some tens of microseconds of the table's time.
pub(crate) const SLICE: usize = 256;

fn check_sum(
    path: &Path,
    head: &[u8],
    reader: &mut impl Read,
    count: u64,
) -> Result<(), StateFileError> {
    let failed = |source| StateFileError::Io {
        path: path.to_owned(),
        operation: "read",
        source,
    };
    let mut sum = Hasher::new();
    sum.update(head);
    let mut octets = [0; ENTRY_LEN];
    for _ in 0..count {
        reader.read_exact(&mut octets).map_err(failed)?;
        sum.update(&octets);
    }
    let mut tail = [0; TAIL_LEN as usize];
    reader.read_exact(&mut tail).map_err(failed)?;
    let mut at = Reader(&tail);
    let said = at.u64();
    sum.update(&said.unwrap_or_default().to_be_bytes());
    if said != Some(count) {
        return Err(StateFileError::Damaged(
            path.to_owned(),
            "entries are missing",
        ));
    }
    if at.u32() != Some(sum.finalize()) {
        return Err(StateFileError::Damaged(
            path.to_owned(),
            "its checksum is wrong",
        ));
    }
    Ok(())
}

/// A file being written. Until [`Writer::finish`] has returned the former one stands; what was written of one that is given
/// up, or fails, goes with it.
pub(crate) struct Writer {
    path: PathBuf,
    part: PathBuf,
    file: BufWriter<File>,
    sum: Hasher,
    count: u64,
}

impl Writer {
    /// Begins `path.part` beside `path`, in the same folder, because a rename does not cross file systems. Connections are
    /// nobody's business but the owner's: mode 0600.
    pub(crate) fn new(
        path: &Path,
        boot: [u8; 16],
        seen_until: Now,
    ) -> Result<Self, StateFileError> {
        let mut part = path.as_os_str().to_owned();
        part.push(".part");
        let part = PathBuf::from(part);
        let failed = |operation, source| StateFileError::Io {
            path: part.clone(),
            operation,
            source,
        };
        // What a crash has left may be readable by others, and a link to elsewhere is none of ours.
        match fs::remove_file(&part) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(failed("remove", error));
            }
            _ => {}
        }
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&part)
            .map_err(|source| failed("create", source))?;
        let file = BufWriter::with_capacity(64 * 1024, file);
        let mut writer = Self {
            path: path.to_owned(),
            part,
            file,
            sum: Hasher::new(),
            count: 0,
        };
        writer.put(&MAGIC)?;
        writer.put(&boot)?;
        writer.put(&seen_until.wall_ns.to_be_bytes())?;
        writer.put(&seen_until.monotonic_ms.to_be_bytes())?;
        Ok(writer)
    }

    pub(crate) fn entries(&mut self, entries: &[StateEntry]) -> Result<(), StateFileError> {
        for entry in entries {
            self.put(&encode(entry))?;
            self.count += 1;
        }
        Ok(())
    }

    /// Makes it durable and puts it in the former file's place.
    pub(crate) fn finish(mut self) -> Result<(), StateFileError> {
        let count = self.count.to_be_bytes();
        self.put(&count)?;
        let sum = self.sum.clone().finalize().to_be_bytes();
        self.put(&sum)?;
        self.place().map_err(|source| self.failed("write", source))
    }

    fn place(&mut self) -> io::Result<()> {
        self.file.flush()?;
        self.file.get_ref().sync_all()?;
        fs::rename(&self.part, &self.path)?;
        // The new name itself must reach the disk: that is the folder's content.
        let folder = match self.path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        File::open(folder)?.sync_all()
    }

    fn put(&mut self, octets: &[u8]) -> Result<(), StateFileError> {
        self.sum.update(octets);
        self.file
            .write_all(octets)
            .map_err(|source| self.failed("write", source))
    }

    fn failed(&self, operation: &'static str, source: io::Error) -> StateFileError {
        StateFileError::Io {
            path: self.part.clone(),
            operation,
            source,
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // After the renaming there is none.
        let _ = fs::remove_file(&self.part);
    }
}

#[cfg(test)]
mod tests;
