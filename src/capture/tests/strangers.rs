//! Files that are not captures: the kind that is reported, in one line.

use std::io;
use std::path::Path;

use super::super::{CaptureError, open};
use super::streams::gzip;
use super::{Folder, mapped, streamed};

/// Packets of Ethernet by a DAG card, this many seconds after the first.
fn erf(seconds: &[u32]) -> Vec<u8> {
    let record = |&after: &u32| {
        let head = [0, 0, 0, 0x80, 2, 4, 0, 80, 0, 0, 0, 60, 0, 0];
        let time = (1_500_000_000 + after).to_le_bytes();
        let mut record = [&head[..4], &time, &head[4..], &[0xEE; 62]].concat();
        record.resize(80, 0);
        record
    };
    seconds.iter().flat_map(record).collect()
}

/// Packets by CommView, as NCF (`header`: 24 bytes) or NCFX (20), in this many months.
fn commview(header: usize, months: &[u8]) -> Vec<u8> {
    let record = |&month: &u8| {
        let mut record = vec![0; header + 60];
        record[0] = 60;
        let at = if header == 24 { 5 } else { 4 };
        record[at..at + 7].copy_from_slice(&[0xEA, 7, month, 24, 23, 59, 60]);
        record[header..].fill(0xEE);
        record
    };
    months.iter().flat_map(record).collect()
}

#[test]
fn other_files_are_identified_by_their_first_bytes() {
    let mut tar = vec![0; 512];
    tar[257..262].copy_from_slice(b"ustar");
    for (bytes, seems) in [
        (b"".to_vec(), "is empty"),
        (b"\n".to_vec(), "seems to be text"),
        ("Größe: 3\n".into(), "seems to be text"),
        (b"<html>".to_vec(), "seems to be text"),
        (b"\x7FELF\x02\x01\x01".to_vec(), "seems to be a program"),
        (b"MZ\x90\0".to_vec(), "seems to be a Windows program"),
        (b"PK\x03\x04\x14\0".to_vec(), "zip archive: unpack it first"),
        (b"\xFD7zXZ\0\0".to_vec(), "compressed with xz: unpack it first"),
        (b"\x04\x22\x4D\x18\x64".to_vec(), "compressed with lz4: unpack it first"),
        (b"BZh91AY&SY".to_vec(), "compressed with bzip2: unpack it first"),
        (b"%PDF-1.7".to_vec(), "seems to be a PDF document"),
        (b"snoop\0\0\0\0\0\0\x02".to_vec(), "Solaris snoop: convert it with editcap"),
        (b"XCP\x00002.002\0".to_vec(), "NetXray: convert it with editcap -F pcap"),
        (b"iptrace 2.0\0".to_vec(), "AIX iptrace: convert it with editcap -F pcap"),
        (b"\x05VNF\0\0".to_vec(), "Visual Networks: convert it with editcap -F pcap"),
        (b"\x1C\x00\x01\xAC".to_vec(), "Ixia device: convert it with editcap"),
        (b"\xAC\x01\x00\x1C".to_vec(), "Ixia device: convert it with editcap"),
        (b"\xAA\xAA\xAA\xAA\x20\0".to_vec(), "5Views: convert it with editcap"),
        (b"\x01\x10\x4C\0\x01\x05Trace".to_vec(), "LANalyzer: convert it with editcap"),
        (b"\x7Fver\0\0".to_vec(), "OmniPeek: convert it with editcap"),
        (b"btsnoop\0\0\0\0\x01".to_vec(), "(btsnoop): convert it with editcap"),
        (erf(&[0, 60, 90_000]), "a DAG card (ERF): convert it with editcap -F pcap"),
        (erf(&[0, 1]), "a DAG card (ERF): convert it with editcap -F pcap"),
        (commview(24, &[1, 12, 1]), "of CommView: convert it with editcap -F pcap"),
        (commview(20, &[1, 12]), "of CommView: convert it with editcap -F pcap"),
        (commview(24, &[1]), "no format known here"),
        (commview(20, &[1, 13, 1]), "no format known here"),
        // Too few, or not consecutive.
        (erf(&[0]), "no format known here"),
        (erf(&[0, 60])[..100].to_vec(), "no format known here"),
        (erf(&[0, 60, 900_000]), "no format known here"),
        (erf(&[60, 0, 60]), "no format known here"),
        (tar, "tar archive: unpack it first"),
        (vec![0; 100], "begins with bytes of no format known here"),
        (b"\xA1\xB2".to_vec(), "begins with bytes of no format known here"),
        (gzip(b"hello\n"), "seems to be text"),
        (gzip(b""), "is empty"),
        (gzip(&gzip(b"hello")), "is compressed twice"),
    ] {
        for error in [mapped(&bytes).err(), streamed(&bytes, &[1]).err()] {
            let said = error.expect("no capture").to_string();
            assert!(said.contains(seems), "{said}");
            assert_eq!(said.lines().count(), 1);
        }
    }
}

#[test]
fn errors_of_opening_have_the_name() {
    let folder = Folder::new();
    let said = open(&folder.0.join("none.pcap")).err().expect("no file").to_string();
    assert!(said.ends_with("none.pcap: no such file; check its name and folder"), "{said}");
    let said = open(&folder.0).err().expect("a folder").to_string();
    assert!(said.contains("is a folder that holds none"), "{said}");
}

#[test]
fn only_errors_of_a_decompressor_are_damage() {
    let said = |error| CaptureError::Open { path: "a.gz".into(), error }.to_string();
    let corrupt = io::Error::new(io::ErrorKind::InvalidInput, "corrupt deflate stream");
    let damaged = "a.gz: corrupt deflate stream: the file is damaged; fetch it again";
    assert_eq!(said(corrupt), damaged);
    let invalid = io::Error::from(nix::errno::Errno::EINVAL);
    assert_eq!(invalid.kind(), io::ErrorKind::InvalidInput);
    assert!(!said(invalid).contains("damaged"));
}

#[test]
fn names_cannot_command_a_terminal() {
    let said = open(Path::new("\x1B[2J\u{202E}pcap.exe\n")).err().expect("no file").to_string();
    assert_eq!(said, r"\x1B[2J\u{202E}pcap.exe\x0A: no such file; check its name and folder");
    let folder = Folder::new();
    let path = folder.file("\x1B]0;x\x07.pcap", b"text");
    let said = open(&path).err().expect("no capture").to_string();
    assert!(said.contains(r"/\x1B]0;x\x07.pcap: not a capture file"), "{said}");
}
