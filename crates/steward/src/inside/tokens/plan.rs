//! Which tokens should be there.

use jiff::{SignedDuration, Timestamp};

use super::Token;

/// How long a token lives: a machine that boots slowly still joins, a token that leaks is soon worthless.
pub(super) const LIFETIME: SignedDuration = SignedDuration::from_hours(1);
/// A token is renewed when it has less left: whoever starts to join now has this much time.
const RENEW_BEFORE: SignedDuration = SignedDuration::from_mins(20);

/// What to do about tokens.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Plan {
    /// What to do about the one token that should be there.
    pub(super) step: Step,
    /// Tokens to remove, by id.
    pub(super) remove: Vec<String>,
    /// When to look again.
    pub(super) look_again: Option<Timestamp>,
}

/// What to do about the one token that should be there. A token that machines were given stays valid as long as they are
/// to join, so it is extended and not replaced.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    None,
    Create { expires_at: Timestamp },
    Keep { id: String },
    Extend { id: String, expires_at: Timestamp },
}

/// Decides what to do about the tokens there are, when machines are to join until `joining_until`.
pub(super) fn plan(tokens: &[Token], joining_until: Option<Timestamp>, now: Timestamp) -> Plan {
    let all = || tokens.iter().map(|token| token.id.clone());
    let Some(until) = joining_until.filter(|until| *until > now) else {
        return Plan { step: Step::None, remove: all().collect(), look_again: None };
    };
    let best = tokens.iter().filter(|token| token.expires_at > now).max_by_key(|token| (token.expires_at, &token.id));
    let renewed = later(whole_second(now), LIFETIME);
    let (step, expires_at) = match best {
        None => (Step::Create { expires_at: renewed }, renewed),
        // Due, or, since the wish was withdrawn in part, valid for longer than anybody could need it.
        Some(token) if token.expires_at <= later(now, RENEW_BEFORE) || token.expires_at > later(until, LIFETIME) => {
            (Step::Extend { id: token.id.clone(), expires_at: renewed }, renewed)
        }
        Some(token) => (Step::Keep { id: token.id.clone() }, token.expires_at),
    };
    let remove = all().filter(|id| best.is_none_or(|best| best.id != *id)).collect();
    let renew_at = expires_at.saturating_sub(RENEW_BEFORE).unwrap_or(expires_at);
    Plan { step, remove, look_again: Some(renew_at.min(until)) }
}

fn later(time: Timestamp, by: SignedDuration) -> Timestamp {
    time.saturating_add(by).unwrap_or(Timestamp::MAX)
}

/// Tokens carry whole seconds.
fn whole_second(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}

#[cfg(test)]
mod tests {
    use pki::Secret;

    use super::*;

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + minute * 60).unwrap()
    }

    fn token(id: &str, ends: i64) -> Token {
        Token { id: id.to_owned(), secret: Secret::new("s"), expires_at: at(ends) }
    }

    #[test]
    fn tokens_follow_the_wish() {
        let create = |ends| Step::Create { expires_at: at(ends) };
        let extend = |id: &str, ends| Step::Extend { id: id.to_owned(), expires_at: at(ends) };
        let keep = |id: &str| Step::Keep { id: id.to_owned() };
        // It is minute 0.
        for (what, tokens, until, step, remove, look_again) in [
            ("nobody joins", vec![], None, Step::None, vec![], None),
            ("nobody joins any more", vec![token("a", 30)], None, Step::None, vec!["a"], None),
            ("joining is over", vec![token("a", 30)], Some(0), Step::None, vec!["a"], None),
            ("somebody joins", vec![], Some(15), create(60), vec![], Some(15)),
            ("somebody joins for long", vec![], Some(600), create(60), vec![], Some(40)),
            ("there is one", vec![token("a", 30)], Some(600), keep("a"), vec![], Some(10)),
            ("it is due", vec![token("a", 20)], Some(600), extend("a", 60), vec![], Some(40)),
            ("it is over", vec![token("a", 0)], Some(600), create(60), vec!["a"], Some(40)),
            ("one is enough", vec![token("a", 30), token("b", 50)], Some(600), keep("b"), vec!["a"], Some(30)),
            (
                "one and the same of two",
                vec![token("b", 50), token("a", 50)],
                Some(600),
                keep("b"),
                vec!["a"],
                Some(30),
            ),
            ("it lives for too long", vec![token("a", 900)], Some(5), extend("a", 60), vec![], Some(5)),
        ] {
            let expected =
                Plan { step, remove: remove.into_iter().map(str::to_owned).collect(), look_again: look_again.map(at) };
            assert_eq!(plan(&tokens, until.map(at), at(0)), expected, "{what}");
        }
    }

    #[test]
    fn a_joining_machine_always_finds_a_token_that_lasts() {
        let mut tokens: Vec<Token> = Vec::new();
        let until = 300;
        let mut minute = 0;
        while minute <= until + 60 {
            let plan = plan(&tokens, Some(at(until)), at(minute));
            tokens.retain(|token| !plan.remove.contains(&token.id));
            match plan.step {
                Step::Create { expires_at } => tokens.push(Token { expires_at, ..token("a", 0) }),
                Step::Extend { expires_at, .. } => tokens[0].expires_at = expires_at,
                Step::Keep { .. } | Step::None => {}
            }
            if minute < until {
                assert_eq!(tokens.len(), 1, "{minute}");
                assert!(tokens[0].expires_at > later(at(minute), RENEW_BEFORE), "{minute}");
                assert!(tokens[0].expires_at <= later(at(until), LIFETIME), "{minute}");
                let next = plan.look_again.unwrap();
                assert!(next > at(minute), "it does not look again at once");
                minute = (next.as_second() - at(0).as_second()) / 60;
            } else {
                assert!(tokens.is_empty(), "{minute}");
                minute += 20;
            }
        }
    }
}
