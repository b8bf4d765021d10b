//! Randomness, from wherever the surroundings have it.

use super::{Fault, Function, Outcome, f, fits, int, text};
use crate::template::exec::Executor;
use crate::template::value::Value;

const DIGITS: &[u8] = b"0123456789";
const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const BOTH: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

pub(super) static FUNCTIONS: &[Function] = &[
    f("randAlphaNum", "i", |e, a| out_of(e, int(a, 0), BOTH)),
    f("randAlpha", "i", |e, a| out_of(e, int(a, 0), LETTERS)),
    f("randNumeric", "i", |e, a| out_of(e, int(a, 0), DIGITS)),
    f("randAscii", "i", |e, a| {
        let printable: Vec<u8> = (b' '..=b'~').collect();
        out_of(e, int(a, 0), &printable)
    }),
    f("randBytes", "i", |e, a| {
        let count = usize::try_from(int(a, 0)).map_err(|_| "runtime error: makeslice: len out of range")?;
        fits(count)?;
        let made = filled(e, count)?;
        Ok(Value::text(base64::Engine::encode(&base64::engine::general_purpose::STANDARD, made)))
    }),
    f("randInt", "ii", |e, a| {
        let span = int(a, 1).checked_sub(int(a, 0)).and_then(|span| u64::try_from(span).ok()).filter(|span| *span > 0);
        let span = span.ok_or("invalid argument to Intn")?;
        let offset = i64::try_from(below(e, span)?).unwrap_or(0);
        Ok(Value::int(int(a, 0).saturating_add(offset)))
    }),
    f("shuffle", "s", |e, a| {
        let mut chars: Vec<char> = text(a, 0).chars().collect();
        e.machine.spend(chars.len())?;
        for last in (1..chars.len()).rev() {
            let other = usize::try_from(below(e, u64::try_from(last + 1).unwrap_or(1))?).unwrap_or(0);
            chars.swap(last, other);
        }
        Ok(Value::text(chars.into_iter().collect::<String>()))
    }),
    f("uuidv4", "", |e, _| {
        let mut id = filled(e, 16)?;
        if let [_, _, _, _, _, _, version, _, variant, ..] = id.as_mut_slice() {
            *version = (*version & 0x0f) | 0x40;
            *variant = (*variant & 0x3f) | 0x80;
        }
        let hex: Vec<String> = id.iter().map(|byte| format!("{byte:02x}")).collect();
        let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default().concat();
        Ok(Value::text([part(0, 4), part(4, 6), part(6, 8), part(8, 10), part(10, 16)].join("-")))
    }),
];

/// Random bytes.
pub(super) fn filled(executor: &Executor<'_>, count: usize) -> Result<Vec<u8>, Fault> {
    let mut made = vec![0; count];
    executor.machine.surroundings.random.fill(&mut made).map_err(Fault::Message)?;
    Ok(made)
}

/// A number below `limit`, each as likely as the other as far as anybody can tell.
fn below(executor: &Executor<'_>, limit: u64) -> Result<u64, Fault> {
    let made = filled(executor, 16)?;
    let number = made.iter().fold(0_u128, |number, byte| (number << 8) | u128::from(*byte));
    Ok(u64::try_from(number % u128::from(limit.max(1))).unwrap_or(0))
}

fn out_of(executor: &mut Executor<'_>, count: i64, letters: &[u8]) -> Outcome {
    let count = usize::try_from(count).unwrap_or(0);
    fits(count)?;
    let mut made = Vec::with_capacity(count);
    // Bytes that would favour the first letters are thrown away.
    let limit = 256 - 256 % letters.len().max(1);
    while made.len() < count {
        for byte in filled(executor, (count - made.len()).max(16))? {
            if usize::from(byte) < limit && made.len() < count {
                made.extend(letters.get(usize::from(byte) % letters.len().max(1)));
            }
        }
    }
    Ok(Value::string_of(made))
}
