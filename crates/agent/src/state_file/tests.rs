//! Files are made here by hand or by the writer, broken in one place, and read.

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, symlink};

use flow_table::{Counters, Tuple};

use super::*;

const BOOT: [u8; 16] = [7; 16];
const SEEN: Now = Now {
    monotonic_ms: 99,
    wall_ns: 1_700_000_000_000_000_000,
};

/// A folder of the test's own, gone with it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("ctipfix-state-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join("state")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn entry(source: &str, destination: &str, id: u32) -> StateEntry {
    StateEntry {
        original: Tuple {
            source: source.parse().unwrap(),
            destination: destination.parse().unwrap(),
            protocol: 6,
            source_port: 40_000,
            destination_port: 443,
        },
        zone: 65_520,
        id,
        start_ns: 1_700_000_000_123_456_789,
        kernel_start: true,
        exported: [
            Counters {
                packets: 1,
                octets: 2,
            },
            Counters {
                packets: u64::MAX,
                octets: 4,
            },
        ],
        zeroed: [
            Counters {
                packets: 5,
                octets: 6,
            },
            Counters {
                packets: 7,
                octets: u64::MAX - 8,
            },
        ],
        record_end_s: 1_700_000_060,
        recorded: true,
        done: false,
    }
}

fn write(path: &Path, entries: &[StateEntry]) {
    let mut writer = Writer::new(path, BOOT, SEEN).unwrap();
    writer.entries(entries).unwrap();
    writer.finish().unwrap();
}

fn read_all(path: &Path, boot: [u8; 16]) -> Result<(Option<Now>, Vec<StateEntry>), StateFileError> {
    let mut all = Vec::new();
    let written = read(path, boot, |_| {}, |entries| all.extend_from_slice(entries))?;
    Ok((written, all))
}

#[test]
fn what_was_written_is_read() {
    let folder = Folder::new("round-trip");
    let mut entries: Vec<_> = (0..1300)
        .map(|id| entry("192.0.2.1", "198.51.100.2", id))
        .collect();
    entries.push(StateEntry {
        kernel_start: false,
        recorded: false,
        done: true,
        ..entry("2001:db8::1", "::ffff:1.2.3.4", 7)
    });
    write(&folder.file(), &entries);
    assert_eq!(
        read_all(&folder.file(), BOOT).unwrap(),
        (Some(SEEN), entries)
    );
}

#[test]
fn no_file_is_no_error() {
    let folder = Folder::new("none");
    assert_eq!(read_all(&folder.file(), BOOT).unwrap(), (None, Vec::new()));
}

#[test]
fn a_file_of_another_boot_is_refused() {
    let folder = Folder::new("boot");
    write(&folder.file(), &[entry("192.0.2.1", "198.51.100.2", 1)]);
    assert!(matches!(
        read_all(&folder.file(), [8; 16]),
        Err(StateFileError::OtherBoot(_))
    ));
}

#[test]
fn a_file_of_another_format_is_refused() {
    let folder = Folder::new("format");
    write(&folder.file(), &[]);
    let mut octets = fs::read(folder.file()).unwrap();
    octets[7] = 1;
    fs::write(folder.file(), octets).unwrap();
    assert!(matches!(
        read_all(&folder.file(), BOOT),
        Err(StateFileError::Format(_))
    ));
}

#[test]
fn no_damage_goes_unnoticed_and_none_hands_out_an_entry() {
    let folder = Folder::new("damage");
    write(
        &folder.file(),
        &[
            entry("192.0.2.1", "198.51.100.2", 1),
            entry("::1", "::1", 2),
        ],
    );
    let whole = fs::read(folder.file()).unwrap();
    // Every octet after the magic and the boot id, one bit each; and every shorter file.
    let flipped = (24..whole.len()).map(|at| {
        let mut octets = whole.clone();
        octets[at] ^= 1;
        octets
    });
    let cut = (0..whole.len()).map(|length| whole[..length].to_vec());
    for octets in flipped.chain(cut) {
        fs::write(folder.file(), &octets).unwrap();
        let mut handed_out = 0;
        let result = read(
            &folder.file(),
            BOOT,
            |_| {},
            |entries| handed_out += entries.len(),
        );
        assert!(
            matches!(result, Err(StateFileError::Damaged(..))),
            "{result:?}"
        );
        assert_eq!(handed_out, 0);
    }
}

#[test]
fn a_crash_while_writing_leaves_the_former_file() {
    let folder = Folder::new("crash");
    let former = [entry("192.0.2.1", "198.51.100.2", 1)];
    write(&folder.file(), &former);
    let mut writer = Writer::new(&folder.file(), BOOT, SEEN).unwrap();
    writer
        .entries(&[entry("192.0.2.1", "198.51.100.2", 2)])
        .unwrap();
    drop(writer); // as a crash would: never finished
    assert_eq!(
        read_all(&folder.file(), BOOT).unwrap(),
        (Some(SEEN), former.to_vec())
    );
    write(&folder.file(), &[]);
    assert_eq!(
        read_all(&folder.file(), BOOT).unwrap(),
        (Some(SEEN), Vec::new())
    );
}

#[test]
fn a_folder_that_is_missing_is_named() {
    let folder = Folder::new("missing");
    let path = folder.0.join("nowhere/state");
    let error = Writer::new(&path, BOOT, SEEN).err().unwrap().to_string();
    assert!(error.contains("nowhere/state.part: create: "), "{error}");
}

#[test]
fn the_boot_id_is_the_kernels() {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let bytes = boot_id().unwrap();
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex, text.trim().replace('-', ""));
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn part(folder: &Folder) -> PathBuf {
    folder.0.join("state.part")
}

#[test]
fn nobody_but_the_owner_may_read_the_file_also_while_it_is_written() {
    let folder = Folder::new("mode");
    // What a crash has left.
    fs::write(part(&folder), "old").unwrap();
    fs::set_permissions(part(&folder), Permissions::from_mode(0o644)).unwrap();
    let mut writer = Writer::new(&folder.file(), BOOT, SEEN).unwrap();
    writer.entries(&[entry("192.0.2.1", "::1", 1)]).unwrap();
    assert_eq!(mode(&part(&folder)), 0o600);
    writer.finish().unwrap();
    assert_eq!(mode(&folder.file()), 0o600);
    assert!(!part(&folder).exists());
}

#[test]
fn a_link_in_the_unfinished_files_place_is_not_followed() {
    let folder = Folder::new("link");
    let elsewhere = folder.0.join("elsewhere");
    fs::write(&elsewhere, "not ours").unwrap();
    symlink(&elsewhere, part(&folder)).unwrap();
    write(&folder.file(), &[]);
    assert_eq!(fs::read_to_string(elsewhere).unwrap(), "not ours");
}

#[test]
fn an_unfinished_file_goes_when_the_writing_fails_or_is_given_up() {
    let folder = Folder::new("part");
    // A folder cannot be replaced by a file.
    fs::create_dir(folder.file()).unwrap();
    let writer = Writer::new(&folder.file(), BOOT, SEEN).unwrap();
    assert!(part(&folder).exists());
    let error = writer.finish().unwrap_err();
    assert!(matches!(error, StateFileError::Io { .. }), "{error}");
    assert!(!part(&folder).exists());

    drop(Writer::new(&folder.file(), BOOT, SEEN).unwrap());
    assert!(!part(&folder).exists());
}

#[test]
fn what_stands_in_the_unfinished_files_place_and_cannot_go_is_named() {
    let folder = Folder::new("in-the-way");
    fs::create_dir(part(&folder)).unwrap();
    let error = Writer::new(&folder.file(), BOOT, SEEN).err().unwrap();
    assert!(error.to_string().contains("state.part: remove"), "{error}");
}
