//! Passwords derived from a master password, a site and a counter.

use std::num::NonZeroU32;

use aws_lc_rs::{hmac, pbkdf2};

const SEED_NAME: &str = "com.lyndir.masterpassword";

/// Forms of passwords: each letter is a class of characters.
const TEMPLATES: [(&str, &[&str]); 6] = [
    ("maximum", &["anoxxxxxxxxxxxxxxxxx", "axxxxxxxxxxxxxxxxxno"]),
    (
        "long",
        &[
            "CvcvnoCvcvCvcv",
            "CvcvCvcvnoCvcv",
            "CvcvCvcvCvcvno",
            "CvccnoCvcvCvcv",
            "CvccCvcvnoCvcv",
            "CvccCvcvCvcvno",
            "CvcvnoCvccCvcv",
            "CvcvCvccnoCvcv",
            "CvcvCvccCvcvno",
            "CvcvnoCvcvCvcc",
            "CvcvCvcvnoCvcc",
            "CvcvCvcvCvccno",
            "CvccnoCvccCvcv",
            "CvccCvccnoCvcv",
            "CvccCvccCvcvno",
            "CvcvnoCvccCvcc",
            "CvcvCvccnoCvcc",
            "CvcvCvccCvccno",
            "CvccnoCvcvCvcc",
            "CvccCvcvnoCvcc",
            "CvccCvcvCvccno",
        ],
    ),
    ("medium", &["CvcnoCvc", "CvcCvcno"]),
    ("short", &["Cvcn"]),
    ("basic", &["aaanaaan", "aannaaan", "aaannaaa"]),
    ("pin", &["nnnn"]),
];

const CLASSES: [(u8, &[u8]); 8] = [
    (b'V', b"AEIOU"),
    (b'C', b"BCDFGHJKLMNPQRSTVWXYZ"),
    (b'v', b"aeiou"),
    (b'c', b"bcdfghjklmnpqrstvwxyz"),
    (b'A', b"AEIOUBCDFGHJKLMNPQRSTVWXYZ"),
    (b'a', b"AEIOUaeiouBCDFGHJKLMNPQRSTVWXYZbcdfghjklmnpqrstvwxyz"),
    (b'n', b"0123456789"),
    (b'o', b"@&%?,=[]_:-+*$#!'^~;()/."),
];
const OTHERS: &[u8] = b"AEIOUaeiouBCDFGHJKLMNPQRSTVWXYZbcdfghjklmnpqrstvwxyz0123456789!@#$%^&*()";

/// The password, or words about what is wrong.
pub(super) fn password(counter: u32, kind: &str, master: &[u8], user: &str, site: &str) -> String {
    let Some((_, templates)) = TEMPLATES.iter().find(|(name, _)| *name == kind) else {
        return format!("cannot find password template {kind}");
    };
    let named = |name: &str| {
        let length = u32::try_from(name.len()).unwrap_or(u32::MAX);
        [SEED_NAME.as_bytes(), &length.to_be_bytes(), name.as_bytes()].concat()
    };
    let key = scrypt(master, &named(user));
    let mut message = named(site);
    message.extend(counter.to_be_bytes());
    let seed = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &key), &message);
    let mut seed = seed.as_ref().iter().map(|byte| usize::from(*byte));
    let first = seed.next().unwrap_or(0);
    let template = templates.get(first % templates.len()).copied().unwrap_or_default();
    let letters = template.bytes().zip(seed).filter_map(|(class, random)| {
        let letters = CLASSES.iter().find(|(name, _)| *name == class).map_or(OTHERS, |(_, letters)| letters);
        letters.get(random % letters.len()).copied().map(char::from)
    });
    letters.collect()
}

const COST: usize = 32_768;
const BLOCKS: usize = 8;
const PARALLEL: usize = 2;

/// scrypt with the parameters of this scheme: 64 bytes.
fn scrypt(password: &[u8], salt: &[u8]) -> [u8; 64] {
    let once = NonZeroU32::MIN;
    let mut mixed = vec![0; PARALLEL * BLOCKS * 128];
    pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, once, salt, password, &mut mixed);
    for part in mixed.chunks_mut(BLOCKS * 128) {
        let words: Vec<u32> = part.as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
        let words = mix(words);
        part.as_chunks_mut::<4>().0.iter_mut().zip(words).for_each(|(bytes, word)| *bytes = word.to_le_bytes());
    }
    let mut out = [0; 64];
    pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, once, &mixed, password, &mut out);
    out
}

fn mix(mut state: Vec<u32>) -> Vec<u32> {
    let mut seen = Vec::with_capacity(COST);
    for _ in 0..COST {
        let next = mix_block(&state);
        seen.push(std::mem::replace(&mut state, next));
    }
    for _ in 0..COST {
        let at = state.get((2 * BLOCKS - 1) * 16).map_or(0, |word| *word as usize) % COST;
        if let Some(other) = seen.get(at) {
            state.iter_mut().zip(other).for_each(|(word, other)| *word ^= other);
        }
        state = mix_block(&state);
    }
    state
}

fn mix_block(state: &[u32]) -> Vec<u32> {
    let mut current: [u32; 16] = [0; 16];
    current.iter_mut().zip(state.iter().rev().take(16).rev()).for_each(|(to, from)| *to = *from);
    let (mut even, mut odd) = (Vec::with_capacity(state.len()), Vec::new());
    for (index, block) in state.chunks(16).enumerate() {
        current.iter_mut().zip(block).for_each(|(word, other)| *word ^= other);
        current = salsa(current);
        if index % 2 == 0 { even.extend(current) } else { odd.extend(current) }
    }
    even.extend(odd);
    even
}

fn salsa(input: [u32; 16]) -> [u32; 16] {
    let mut state = input;
    // One quarter: the word that changes, the two that are added, and the rotation.
    let mut quarter = |to: usize, one: usize, two: usize, by: u32| {
        let added = state[one & 15].wrapping_add(state[two & 15]);
        state[to & 15] ^= added.rotate_left(by);
    };
    for _ in 0..4 {
        for [a, b, c, d] in [
            [0, 4, 8, 12],
            [5, 9, 13, 1],
            [10, 14, 2, 6],
            [15, 3, 7, 11],
            [0, 1, 2, 3],
            [5, 6, 7, 4],
            [10, 11, 8, 9],
            [15, 12, 13, 14],
        ] {
            quarter(b, a, d, 7);
            quarter(c, b, a, 9);
            quarter(d, c, b, 13);
            quarter(a, d, c, 18);
        }
    }
    state.iter_mut().zip(input).for_each(|(word, before)| *word = word.wrapping_add(before));
    state
}
