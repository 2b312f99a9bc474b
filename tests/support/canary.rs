//! Random texts and addresses that are planted into captures, and the forms in which they could be
//! found again.

use std::net::Ipv4Addr;

use captures::wire::Prng;

/// A text and an address.
pub(crate) struct Canary {
    text: Vec<u8>,
    address: Ipv4Addr,
}

/// One of its forms, and all in which it is searched.
#[derive(Debug)]
pub(crate) struct Planted {
    pub(crate) form: Vec<u8>,
    all: Vec<Vec<u8>>,
}

impl Canary {
    /// How many forms there are.
    pub(crate) const FORMS: usize = 10;

    pub(crate) fn new(numbers: &mut Prng) -> Canary {
        const LETTERS: &[u8] = b"abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789";
        let text = (0..14).map(|_| *numbers.pick(LETTERS)).collect();
        // A public address without special octets, and with no byte twice.
        let mut octets = [0; 4];
        for at in 0..4 {
            loop {
                let octet = numbers.between(11, 223) as u8;
                let is_special = [100, 127, 169, 172, 192].contains(&octet);
                if !is_special && !octets[..at].contains(&octet) {
                    octets[at] = octet;
                    break;
                }
            }
        }
        Canary { text, address: octets.into() }
    }

    fn forms(&self) -> Vec<Vec<u8>> {
        let octets = self.address.octets();
        let number = u32::from(self.address);
        let mut reversed = self.text.clone();
        reversed.reverse();
        vec![
            self.text.clone(),
            reversed,
            hex(&self.text),
            base64(&self.text),
            self.address.to_string().into_bytes(),
            number.to_string().into_bytes(),
            number.swap_bytes().to_string().into_bytes(),
            hex(&octets),
            hex(&octets).to_ascii_uppercase(),
            base64(&octets),
        ]
    }

    /// All forms in which it is searched. Digits next to a number make another number.
    fn all(&self) -> Vec<Vec<u8>> {
        let octets = self.address.octets();
        let mut all = self.forms();
        all.push(octets.to_vec());
        all.push(octets.iter().rev().copied().collect());
        all.push(self.text.iter().flat_map(|&byte| [byte, 0]).collect());
        all
    }

    /// In one of the forms of text.
    pub(crate) fn in_form(&self, form: usize) -> Planted {
        let mut forms = self.forms();
        Planted { form: forms.swap_remove(form % Canary::FORMS), all: self.all() }
    }

    /// As the four bytes of the address.
    pub(crate) fn as_bytes(&self) -> Planted {
        Planted { form: self.address.octets().to_vec(), all: self.all() }
    }

    /// In a form of at most this many bytes, which are at least four.
    pub(crate) fn fitting(&self, length: usize, numbers: &mut Prng) -> Planted {
        let mut forms = self.forms();
        forms.push(self.address.octets().to_vec());
        forms.push(self.address.octets().iter().rev().copied().collect());
        forms.retain(|form| form.len() <= length);
        let form = numbers.pick(&forms).clone();
        Planted { form, all: self.all() }
    }
}

impl Planted {
    pub(crate) fn is_in(&self, bytes: &[u8]) -> bool {
        memchr::memmem::find(bytes, &self.form).is_some()
    }

    /// The form that is in these bytes.
    pub(crate) fn found(&self, bytes: &[u8]) -> Option<String> {
        let found = self.all.iter().find_map(|form| {
            memchr::memmem::find_iter(bytes, form)
                .find(|&at| is_apart(bytes, at, form))
                .map(|at| (at, form))
        });
        found.map(|(at, form)| format!("{} at {at}", form.escape_ascii()))
    }
}

/// Whether a number in digits is not a part of a longer one.
fn is_apart(bytes: &[u8], at: usize, form: &[u8]) -> bool {
    let is_number = form.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
    let is_digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_digit);
    let before = at.checked_sub(1).and_then(|before| bytes.get(before));
    !is_number || !is_digit(before) && !is_digit(bytes.get(at + form.len()))
}

fn hex(bytes: &[u8]) -> Vec<u8> {
    captures::bytes::hex(bytes).to_ascii_lowercase().into_bytes()
}

fn base64(bytes: &[u8]) -> Vec<u8> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = Vec::new();
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().fold(0_u32, |bits, &byte| bits << 8 | u32::from(byte));
        let bits = bits << (8 * (3 - chunk.len()));
        let digits = (0..=chunk.len()).map(|at| DIGITS[(bits >> (18 - 6 * at)) as usize & 0x3F]);
        text.extend(digits);
        text.extend(std::iter::repeat_n(b'=', 3 - chunk.len()));
    }
    text
}
