//! Any other form: a token, an endpoint and authorities are told apart from everything else by their form alone.

use super::Join;

/// How to join, if all it takes stands there in so many words.
pub(super) fn read(data: &str) -> Option<Join> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || ".:-/[]".contains(c);
    let words: Vec<&str> = data.split(|c: char| !is_part(c)).filter(|word| !word.is_empty()).collect();
    let token = words.iter().find(|word| is_token(word))?;
    let is_pin = |word: &&&str| word.strip_prefix("sha256:").is_some_and(|hex| hex.len() == 64);
    let mut endpoints = words.iter().filter_map(|word| {
        let place = super::endpoint(word);
        let (host, port) = place.rsplit_once(':')?;
        let is_host = !host.is_empty() && !host.contains('/') && host != "sha256";
        (is_host && port.parse::<u16>().is_ok()).then(|| place.clone())
    });
    Some(Join {
        endpoint: endpoints.next()?,
        token: (*token).to_owned(),
        pins: words.iter().filter(is_pin).map(|word| (*word).to_owned()).collect(),
        ..Join::default()
    })
}

fn is_token(word: &str) -> bool {
    word.split_once('.').is_some_and(|(id, secret)| pki::BootstrapToken::from_parts(id, secret).is_some())
}
